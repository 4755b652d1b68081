//! Finds hooks, and ends the run if a hook raises an exception. Hooks are the methods that the core
//! calls on Python objects.

use std::sync::Arc;

use netspurt::foreign::{ForeignFault, fail};
use pyo3::create_exception;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// The Python module that finds algorithms.
pub const MODULE: &str = "netspurt.algorithms";

/// Returns the method `name`, bound to `object`; `None` if the object has no such method.
pub fn hook(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Option<Py<PyAny>>> {
    let name = PyString::intern(object.py(), name);
    Ok(object.getattr_opt(name)?.filter(|method| method.is_callable()).map(Bound::unbind))
}

/// Does the same as [`hook`] for a method that the object must have. `methods` is the part of the
/// error message that lists all methods that such an object needs.
pub fn needed(object: &Bound<'_, PyAny>, name: &str, methods: &str) -> PyResult<Py<PyAny>> {
    hook(object, name)?.ok_or_else(|| {
        let class = object.get_type();
        let class = class.qualname().map_or_else(|_| "a class".to_owned(), |name| name.to_string());
        PyTypeError::new_err(format!("{class} has no method `{name}`: {methods}"))
    })
}

/// Whether a method has a parameter called `parameter`.
pub fn takes(py: Python<'_>, method: &Py<PyAny>, parameter: &str) -> PyResult<bool> {
    py.import(MODULE)?.call_method1("has_parameter", (method, parameter))?.extract()
}

create_exception!(
    netspurt,
    ReturnedError,
    pyo3::exceptions::PyValueError,
    "A method of an algorithm returned an invalid value."
);

/// The error for a method that returned the invalid value `answer`. The text `what` says what the
/// method must return.
pub fn unlike(method: &str, answer: &Bound<'_, PyAny>, what: &str) -> PyErr {
    let shown = answer.repr().map_or_else(|_| "something".to_owned(), |text| text.to_string());
    ReturnedError::new_err(format!("{method}() returned {shown}: it must return {what}"))
}

/// An object whose methods the core calls, and the text that names the object's class.
pub struct Instance {
    object: Py<PyAny>,
    text: Arc<str>,
}

impl Instance {
    pub fn new(object: &Bound<'_, PyAny>, text: &Arc<str>) -> Self {
        Self { object: object.clone().unbind(), text: Arc::clone(text) }
    }

    /// Ends the run with an exception that a method raised.
    pub fn end_run(&self, method: &str, error: PyErr) -> ! {
        let fault = Python::attach(|py| fault_of(py, self.with_context(py, method, error)));
        fail(fault)
    }

    /// Adds the class, the method and the line to an exception that a method raised. Returns the
    /// new exception. An interrupt is returned unchanged.
    pub fn with_context(&self, py: Python<'_>, method: &str, error: PyErr) -> PyErr {
        // `into_value` keeps the traceback, and `value` does not.
        let error = error.into_value(py);
        let convert = || -> PyResult<PyErr> {
            let arguments = (&*self.text, method, &self.object, &error);
            py.import(MODULE)?.call_method1("failure", arguments).map(PyErr::from_value)
        };
        convert().unwrap_or_else(|failed| failed)
    }
}

/// Makes the fault of a foreign algorithm from an exception.
pub fn fault_of(py: Python<'_>, error: PyErr) -> ForeignFault {
    let message = error.value(py).to_string();
    ForeignFault { message, cause: Box::new(error) }
}

/// Makes a Python exception from a fault of a foreign algorithm.
pub fn raised(fault: ForeignFault) -> PyErr {
    let ForeignFault { message, cause } = fault;
    match cause.downcast::<PyErr>() {
        Ok(error) => *error,
        Err(_) => ReturnedError::new_err(message),
    }
}
