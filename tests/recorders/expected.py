"""The text of an `.expected` file: sections `=== ITEM: BACKENDS`, each text once however many backends share it."""


def escaped(text):
    """The lines of a section's body. A missing newline at the end is a last line of its own."""
    if not text:
        return ""
    ended = text.endswith("\n")
    lines = (text if ended else text + "\n").split("\n")[:-1]
    lines = ["\\" + line if line.startswith(("=== ", "\\")) else line for line in lines]
    return "\n".join(lines + ([] if ended else ["\\ no newline"])) + "\n"


def order(item):
    """Sections stand in the order in which things happen: what was printed, then compilation by compilation."""
    kinds = ["stdout", "stderr", "status", "exception", "count", "recompiles"]
    parts = ["joint", "inference", "forward", "backward", "saved", "cut", "conditions"]
    name, _, number = item.partition(" ")
    return (0, kinds.index(name), 0) if name in kinds else (1, int(number), parts.index(name))


def written(observed):
    """`observed` maps a backend (None where a case has none) to its items; an item maps to its text."""
    backends = [backend for backend in observed if backend]
    lines = [f"=== backends: {', '.join(backends)}\n"] if backends else []
    for item in sorted({item for items in observed.values() for item in items}, key=order):
        texts = {}
        for backend, items in observed.items():
            if item in items:
                texts.setdefault(items[item], []).append(backend)
        for text, of in texts.items():
            head = item if of == list(observed) else f"{item}: {', '.join(of)}"
            lines.append(f"=== {head}\n{escaped(text)}")
    return "".join(lines)
