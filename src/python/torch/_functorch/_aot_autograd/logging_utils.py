"""The name of the graph that is being compiled."""

from torch import _native_aot

model_name = "model"


def set_model_name(name):
    """Changes the first part of the names."""
    global model_name
    model_name = name


def get_aot_compilation_context():
    """The parts of the name: the graph, as a list, the model's name, and how many graphs were compiled before."""
    graph, before = _native_aot._graph_being_compiled()
    return [] if graph is None else [graph], model_name, before


def get_aot_graph_name():
    """The name of the graph that is being compiled."""
    graph, model, before = get_aot_compilation_context()
    return f"{model}__{'_'.join(graph)}_{before}"


get_graph_being_compiled = get_aot_graph_name
