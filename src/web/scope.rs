//! What a worker has around it: messages, turns, the network.

use serde::Serialize;
use wasm_bindgen::prelude::*;
use web_sys::{DedicatedWorkerGlobalScope, MessageEvent};

use super::to_js;

/// The worker's global scope.
///
/// # Errors
/// Outside of a worker.
pub(super) fn scope() -> Result<DedicatedWorkerGlobalScope, String> {
    js_sys::global().dyn_into().map_err(|_| "this is no worker".to_owned())
}

/// Tells the page something. What cannot cross is said in the console: the page has nothing to wait for but an answer to a question of
/// its own, and every answer can cross.
pub(super) fn post(message: &impl Serialize) {
    let posted = to_js(message).and_then(|message| scope()?.post_message(&message).map_err(|error| said(&error)));
    if let Err(error) = posted {
        web_sys::console::error_1(&error.into());
    }
}

/// From now on `handle` takes the page's messages, first those that `waiting` holds already.
///
/// # Errors
/// Outside of a worker.
pub(super) fn serve(waiting: Vec<JsValue>, handle: impl Fn(JsValue) + 'static) -> Result<(), JsValue> {
    let scope = scope()?;
    let handle = std::rc::Rc::new(handle);
    let taken = handle.clone();
    let listener = Closure::<dyn Fn(MessageEvent)>::new(move |event: MessageEvent| taken(event.data()));
    scope.set_onmessage(Some(listener.as_ref().unchecked_ref()));
    // For the life of the worker.
    listener.forget();
    waiting.into_iter().for_each(|message| handle(message));
    Ok(())
}

/// Does something when the messages that wait have been heard.
#[cfg(feature = "python")]
pub(super) fn later(what: impl FnOnce() + 'static) {
    let what = std::cell::RefCell::new(Some(what));
    let once = Closure::once_into_js(move || {
        if let Some(what) = what.take() {
            what();
        }
    });
    if let Ok(scope) = scope() {
        // A worker that cannot wait does without.
        let _ = scope.set_timeout_with_callback(once.unchecked_ref());
    }
}

/// Lets the messages that wait be heard.
#[cfg(feature = "gpu")]
pub(super) async fn turn() {
    let promise = js_sys::Promise::new(&mut |resolve, _| {
        if let Ok(scope) = scope() {
            let _ = scope.set_timeout_with_callback(&resolve);
        }
    });
    let _ = wasm_bindgen_futures::JsFuture::from(promise).await;
}

/// Milliseconds since the worker began.
#[cfg(any(feature = "python", feature = "gpu"))]
pub(super) fn now() -> f64 {
    let performance = js_sys::Reflect::get(&js_sys::global(), &"performance".into());
    performance.map_or(0.0, |performance| performance.unchecked_into::<web_sys::Performance>().now())
}

/// Fetches bytes while everything waits, as a worker may and an import must.
///
/// # Errors
/// A sentence.
#[cfg(feature = "python")]
pub(super) fn fetch(url: &str) -> Result<Vec<u8>, String> {
    use web_sys::{XmlHttpRequest, XmlHttpRequestResponseType};
    let fetched = || -> Result<Vec<u8>, JsValue> {
        let request = XmlHttpRequest::new()?;
        request.open_with_async("GET", url, false)?;
        request.set_response_type(XmlHttpRequestResponseType::Arraybuffer);
        request.send()?;
        if request.status()? != 200 {
            return Err(format!("{} {}", request.status()?, request.status_text()?).trim().into());
        }
        Ok(js_sys::Uint8Array::new(&request.response()?).to_vec())
    };
    fetched().map_err(|error| said(&error))
}

/// What JavaScript threw, for people.
pub(super) fn said(thrown: &JsValue) -> String {
    let message = thrown.dyn_ref::<js_sys::Error>().map(|error| String::from(error.message()));
    message.or_else(|| thrown.as_string()).unwrap_or_else(|| format!("{thrown:?}"))
}
