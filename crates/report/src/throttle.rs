//! What a script prints, told to the page no faster than a page can take it in.
//!
//! The first few hundred texts are told at once, and so is every other event. A script that prints without pause is told in pieces,
//! [`RATE`] a second, of which the page keeps the end: what lies between is left out where it is more than [`MOST_BYTES`].

use std::cell::{Cell, RefCell};

use crate::Event;

/// Texts that are told at once before any has to wait.
const BURST: f64 = 200.0;
/// Texts told in a second after that.
const RATE: f64 = 100.0;
/// The most of a text that waits, in bytes: as much as the page keeps.
const MOST_BYTES: usize = 200_000;

/// Hands events on.
pub struct Throttle<F> {
    tell: F,
    waiting: RefCell<Vec<Event>>,
    tokens: Cell<f64>,
    filled: Cell<f64>,
}

impl<F: Fn(Event)> Throttle<F> {
    /// Hands events to `tell`.
    pub fn new(tell: F) -> Self {
        Throttle { tell, waiting: RefCell::default(), tokens: Cell::new(BURST), filled: Cell::new(0.0) }
    }

    /// Takes an event that became known so many seconds after the run began; those that wait come before it.
    pub fn take(&self, event: Event, at: f64) {
        let is_text = matches!(event, Event::Stdout { .. } | Event::Stderr { .. });
        self.wait(event);
        if !is_text || self.may_tell(at) {
            self.waiting.take().into_iter().for_each(&self.tell);
        }
    }

    fn may_tell(&self, at: f64) -> bool {
        let tokens = (self.tokens.get() + RATE * (at - self.filled.get())).min(BURST);
        self.filled.set(at);
        self.tokens.set(if tokens < 1.0 { tokens } else { tokens - 1.0 });
        tokens >= 1.0
    }

    /// Texts of one stream that follow each other are one.
    fn wait(&self, event: Event) {
        let mut waiting = self.waiting.borrow_mut();
        let rest = match (waiting.last_mut(), event) {
            (Some(Event::Stdout { text }), Event::Stdout { text: more }) | (Some(Event::Stderr { text }), Event::Stderr { text: more }) => {
                text.push_str(&more);
                shorten(text);
                None
            }
            (_, event) => Some(event),
        };
        waiting.extend(rest);
        // One stream and then the other, without pause: the earliest go.
        if waiting.len() > BURST as usize {
            waiting.remove(0);
        }
    }
}

/// Leaves out the beginning where there is twice too much.
fn shorten(text: &mut String) {
    if text.len() > 2 * MOST_BYTES {
        let from = text.ceil_char_boundary(text.len() - MOST_BYTES);
        text.drain(..from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;

    fn print(text: &str) -> Event {
        Event::Stdout { text: text.to_owned() }
    }

    /// What is told of events at these times.
    fn told(events: impl IntoIterator<Item = (Event, f64)>) -> Vec<Event> {
        let told = Rc::new(RefCell::new(Vec::new()));
        let throttle = Throttle::new({
            let told = told.clone();
            move |event| told.borrow_mut().push(event)
        });
        events.into_iter().for_each(|(event, at)| throttle.take(event, at));
        told.take()
    }

    #[test]
    fn a_script_that_prints_now_and_then_is_told_at_once() {
        let events: Vec<_> = (0..1000).map(|i| (print("x\n"), f64::from(i) / 50.0)).collect();
        assert_eq!(told(events).len(), 1000);
    }

    #[test]
    fn a_script_that_prints_without_pause_is_told_in_pieces() {
        let all = told((0..100_000).map(|i| (print(&format!("{i}\n")), f64::from(i) / 100_000.0)));
        assert!(all.len() < 310, "{} pieces", all.len());
        let text: String = all.iter().map(|event| if let Event::Stdout { text } = event { text.as_str() } else { "" }).collect();
        let lines: Vec<usize> = text.lines().map(|line| line.parse().unwrap()).collect();
        assert!(lines.iter().enumerate().all(|(i, line)| i == *line), "something is missing or out of order");
    }

    #[test]
    fn what_waits_comes_before_what_does_not() {
        let mut events: Vec<_> = (0..500).map(|_| (print("x"), 0.0)).collect();
        events.push((Event::Finished { exception: None, seconds: 0.0 }, 0.0));
        let all = told(events);
        assert_eq!(all.len(), 202);
        assert_eq!(all[200], print(&"x".repeat(300)));
        assert!(matches!(all[201], Event::Finished { .. }));
    }

    #[test]
    fn of_more_than_is_kept_the_end_is_told() {
        let mut events: Vec<_> = (0..200).map(|_| (print(""), 0.0)).collect();
        events.extend((0..100).map(|i| (print(&format!("{i:0>10000}")), 0.0)));
        events.push((Event::Finished { exception: None, seconds: 0.0 }, 0.0));
        let all = told(events);
        let Event::Stdout { text } = &all[200] else { panic!("{:?}", all[200]) };
        assert!(text.len() <= 2 * MOST_BYTES && text.ends_with("99"), "{} bytes", text.len());
    }
}
