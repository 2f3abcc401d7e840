//! Subgraphs that calls of `invoke_subgraph` share: calls of one function that compute the same of inputs that look the same.

use std::rc::Rc;

use super::state::Region;
use super::tracer::Recorder;
use crate::graph::regions::is_same_computation;
use crate::graph::{Graph, NodeId};

impl Recorder {
    /// The node that names the subgraph of a region, and the name: that of an earlier call where it computes the same.
    pub(in crate::dynamo) fn shared_subgraph(&self, code: usize, body: &Graph, requires_grad: &[bool]) -> (NodeId, Rc<str>) {
        let output = self.output();
        let is_it = |r: &&Region| r.code == code && r.requires_grad == requires_grad && is_same_computation(&r.body, body);
        let known = output.regions.borrow().iter().find(is_it).map(|region| region.name.clone());
        let name = known.unwrap_or_else(|| {
            let name: Rc<str> = format!("subgraph_{}", output.regions.borrow().len()).into();
            let region = Region { code, body: body.clone(), name: name.clone(), requires_grad: requires_grad.to_vec() };
            output.regions.borrow_mut().push(region);
            name
        });
        // One that was met in another body is no subgraph of this graph yet.
        let is_there = output.graph.borrow().subgraphs.iter().any(|(known, _)| *known == name);
        if !is_there {
            output.graph.borrow_mut().subgraphs.push((name.clone(), body.clone()));
        }
        (self.names_subgraph(&name), name)
    }
}
