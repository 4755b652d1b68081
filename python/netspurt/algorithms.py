"""Finds and loads algorithms that are written in Python, and reports how they fail.

An algorithm is a class: a retransmission timer or a congestion control. A text, for example in a
scenario, names the class. It has the place of the class, ``"file.py:Class"`` or
``"package.module:Class"``, or the name of an entry point of an installed package. Constants may
follow: ``"file.py:Class:k=3"``. The text may also have the beginning of the SHA-256 of the code,
its fingerprint: ``"file.py@0f3a5c7e9b1d2f46:Class"``. Such a text is pinned: it names only this
code.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.metadata
import importlib.util
import inspect
import linecache
import pkgutil
import re
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from netspurt._core import ReturnedError

#: The groups of entry points of installed packages, by the kind of algorithm.
GROUPS = {"timer": "netspurt.estimators", "congestion": "netspurt.congestion"}

#: The number of hexadecimal digits of a fingerprint in a text.
_DIGITS = 16

#: The parts of a text: a place or a name, and three optional parts. These are the beginning of the
#: code's fingerprint, a class, and constants.
_TEXT = re.compile(
    rf"(?P<where>[^:=@]+)(?:@(?P<pin>[0-9a-f]{{{_DIGITS}}}))?"
    r"(?::(?P<name>[A-Za-z_]\w*)(?=:|$))?(?::(?P<constants>.*))?",
    re.DOTALL,
)


class PlaceError(ValueError):
    """A text does not name an algorithm that can be used.

    Attributes
    ----------
    message, fix
        What is wrong, and what to write.
    """

    def __init__(self, message: str, fix: str) -> None:
        super().__init__(f"{message}: {fix}")
        self.message, self.fix = message, fix


class AlgorithmError(ValueError):
    """A method of an algorithm in Python raised an exception or returned an invalid value.

    `__cause__` is the original exception, with its traceback.

    Attributes
    ----------
    algorithm, method
        The text that names the class, and the method.
    file, line
        The class's file, and the last line of this file that ran before the error. If the method
        returned an invalid value, or if no line of the file ran, `line` is the method's first line.
        If this line is not known either, `line` is `None`.
    message, fix
        What is wrong, and what to do.
    """

    def __init__(
        self, algorithm: str, method: str, place: tuple[str, int | None], why: str
    ) -> None:
        self.algorithm, self.method = algorithm, method
        self.file, self.line = place
        at = f"{self.file}, line {self.line}" if self.line is not None else self.file
        self.message, self.fix = f"`{method}` of {algorithm}, {at}: {why}", "correct the method"
        super().__init__(self.message)


@dataclass(frozen=True)
class PythonAlgorithm:
    """A class that implements an algorithm, with the constants for its instances.

    Attributes
    ----------
    text
        The text that names the class, with the beginning of its code's fingerprint.
    file, sha256
        The name of the file of its code, without folders, and the file's SHA-256 in hexadecimal.
    make
        A function that makes an instance.
    """

    text: str
    file: str
    sha256: str
    make: Callable[[], object]


@dataclass(frozen=True)
class _Code:
    """The code of a file: its name without folders, its path, its text and its SHA-256."""

    file: str
    path: str
    text: str
    sha256: str

    @property
    def pin(self) -> str:
        return self.sha256[:_DIGITS]


#: The code of each file, by its name ``file.py@fingerprint``.
_known: dict[str, _Code] = {}

#: The path of each file of code that was read, by the file's SHA-256.
_read_at: dict[str, str] = {}


def read_code(path: Path) -> str:
    """Return the text of a file of code, and store the file's path for tracebacks.

    Raises
    ------
    PlaceError
        If the file's content is not text.
    OSError
        If the file cannot be read.
    """
    code = _read(path)
    _read_at[code.sha256] = code.path
    return code.text


def learn(name: str, text: str) -> None:
    """Store the code of a file under the name ``file.py@fingerprint``. The Rust core calls this."""
    if name not in _known:
        file, sha256 = Path(name.rpartition("@")[0]).name, _fingerprint(text)
        _known[name] = _Code(file, _read_at.get(sha256, f"<{name}>"), text, sha256)


def _fingerprint(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def find(kind: str, text: str) -> PythonAlgorithm | None:
    """Return the algorithm that a text names, or `None` if the text names no algorithm.

    The result is also `None` if no installed package offers an algorithm of this name.

    Parameters
    ----------
    kind
        The kind of algorithm: `"timer"` or `"congestion"`.
    text
        A file, a module or the name of an entry point, with a class and constants.

    Raises
    ------
    PlaceError
        If there is no such file, module or class, or the code cannot be loaded. If the code does
        not have the fingerprint in the text. If the constants are malformed. If an instance cannot
        be made, or its `bounds` are invalid. If several packages offer different algorithms of this
        name.
    OSError
        If the file cannot be read.
    """
    parts = _TEXT.fullmatch(text.strip())
    if parts is None:
        return None
    where, name = parts["where"].strip(), parts["name"]
    if name is None and where.endswith(".py"):
        raise PlaceError(f"`{where}` names a file but no class", f"write `{where}:Class`")
    if name is None:
        point = _entry_point(kind, where)
        if point is None:
            return None
        made, code = _of_entry_point(point)
    elif where.endswith(".py"):
        code = _code(where, parts["pin"])
        made = _member(_module(where, code), where, name)
    else:
        module = _imported(where)
        made = _member(module, where, name)
        code = _code_of(module, where)
    if parts["pin"] not in {None, code.pin}:
        raise PlaceError(
            f"the code of `{where}` has changed since it was pinned", f"leave out `@{parts['pin']}`"
        )
    constants = _constants(parts["constants"])
    written = "".join(f":{part}" for part in (name, parts["constants"]) if part is not None)
    found = PythonAlgorithm(
        f"{where}@{code.pin}{written}", code.file, code.sha256, lambda: made(**constants)
    )
    _check(found, name or where)
    return found


def offered(kind: str) -> list[str]:
    """Return the names of the algorithms that installed packages offer."""
    return sorted({point.name for point in importlib.metadata.entry_points(group=GROUPS[kind])})


def unpinned(text: str) -> str:
    """Return a text without the fingerprint of its code.

    Examples
    --------
    >>> unpinned("timer.py@0f3a5c7e9b1d2f46:Peak:k=3")
    'timer.py:Peak:k=3'
    """
    return re.sub(rf"^([^:=@]+)@[0-9a-f]{{{_DIGITS}}}(?=:|$)", r"\1", text)


#: The beginning of a text that names a class in a file. The text begins after a quotation mark or
#: at the beginning of a line.
_IN_TEXT = re.compile(
    rf"""(?:^|["'])\s*([^"'\n:=@,]+\.py)(?:@[0-9a-f]{{{_DIGITS}}})?:[A-Za-z_]""", re.M
)


def files_named(text: str) -> list[str]:
    """Find the classes that a scenario or another text names, and return the names of their files.

    A class is found only if its text begins after a quotation mark or at the beginning of a line.

    Examples
    --------
    >>> files_named('estimator = "timer.py:Peak:k=3"')
    ['timer.py']
    """
    return sorted(set(_IN_TEXT.findall(text)))


def has_parameter(method: Callable[..., object], parameter: str) -> bool:
    """Return whether the signature of a method has a parameter of this name.

    A parameter ``**kwargs`` does not count. The result is false if the signature is not known.

    Examples
    --------
    >>> has_parameter(lambda now, kind="rto": None, "kind"), has_parameter(lambda now: None, "kind")
    (True, False)
    """
    try:
        return parameter in inspect.signature(method).parameters
    except (TypeError, ValueError):
        return False


def failure(text: str, method: str, instance: object, error: BaseException) -> BaseException:
    """Return the exception to raise for an error in a method. An interrupt is returned as it is."""
    if not isinstance(error, Exception | SystemExit):
        return error
    made = type(instance)
    path = inspect.getsourcefile(made) if isinstance(made, type) else None
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == path]
    code = getattr(getattr(made, method, None), "__code__", None)
    line = frames[-1].lineno if frames else getattr(code, "co_firstlineno", None)
    file = re.sub(rf"^<(.+)@[0-9a-f]{{{_DIGITS}}}>$", r"\1", path or made.__module__)
    message = in_one_line(error)
    why = message if isinstance(error, ReturnedError) else f"{type(error).__name__}: {message}"
    named = AlgorithmError(unpinned(text), method, (Path(file).name, line), why)
    named.__cause__ = error
    return named


def in_one_line(error: BaseException) -> str:
    """Return an exception's text with ` / ` between its lines."""
    return " / ".join(str(error).splitlines())


def _check(found: PythonAlgorithm, shown: str) -> None:
    """Make an instance, and check that its attribute `bounds` is valid, if it has one."""
    try:
        bounds = getattr(found.make(), "bounds", None)
        if bounds is not None and not _are_bounds(bounds):
            raise PlaceError(
                f"`{shown}` has the bounds {bounds!r}",
                "make them two numbers of seconds, the smaller number first",
            )
    except PlaceError:
        raise
    except TypeError as error:
        raise PlaceError(
            f"`{shown}` cannot be made: {in_one_line(error)}", "see its __init__"
        ) from error
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        raise PlaceError(
            f"`{shown}` cannot be made: {type(error).__name__}: {error}",
            f"see line {where.lineno} of {Path(where.filename).name}",
        ) from error


def _are_bounds(bounds: object) -> bool:
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        return False
    numbers = all(isinstance(bound, int | float) and bound >= 0 for bound in bounds)
    return numbers and bounds[0] <= bounds[1]


def _entry_point(kind: str, name: str) -> importlib.metadata.EntryPoint | None:
    found = tuple(importlib.metadata.entry_points(group=GROUPS[kind], name=name))
    if len({point.value for point in found}) > 1:
        packages = ", ".join(sorted(point.dist.name for point in found if point.dist is not None))
        raise PlaceError(
            f"several packages offer `{name}`: {packages}", "write the module and the class"
        )
    return found[0] if found else None


def _of_entry_point(point: importlib.metadata.EntryPoint) -> tuple[Callable[..., object], _Code]:
    try:
        made = point.load()
    except Exception as error:
        raise PlaceError(
            f"`{point.name}` of {point.value} cannot be loaded: {type(error).__name__}: {error}",
            "see the package that offers it",
        ) from error
    if not callable(made):
        raise PlaceError(
            f"`{point.name}` is {point.value}, which is not a class", "name another algorithm"
        )
    return made, _code_of(sys.modules[made.__module__], point.name)


def _imported(where: str) -> ModuleType:
    try:
        module = pkgutil.resolve_name(where)
    except (ImportError, AttributeError, ValueError) as error:
        fix = (
            "write the name of an algorithm, of a module that can be imported, or of a file that "
            "ends with .py"
        )
        raise PlaceError(f"no module `{where}`: {error}", fix) from error
    if not isinstance(module, ModuleType):
        raise PlaceError(f"`{where}` is not a module", "write the module and the class")
    return module


def _member(module: ModuleType, where: str, name: str) -> Callable[..., object]:
    found = getattr(module, name, None)
    if not callable(found):
        raise PlaceError(f"`{where}` has no class `{name}`", "write the name of a class in it")
    return found  # type: ignore[no-any-return]


def _code(where: str, pin: str | None) -> _Code:
    """Return the stored code with the fingerprint `pin`, or read the file."""
    if pin is not None and f"{where}@{pin}" in _known:
        return _known[f"{where}@{pin}"]
    path = Path(where)
    if not path.is_file():
        raise PlaceError(
            f"no file `{where}`",
            "write its path from the current folder, or in a scenario from the scenario's folder",
        )
    return _read(path)


def _read(path: Path) -> _Code:
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise PlaceError(f"`{path}` is not a text file", "name a file of Python") from None
    return _Code(path.name, str(path.resolve()), text, _fingerprint(text))


def _code_of(module: ModuleType, where: str) -> _Code:
    """Return the code of a module from its file.

    Raise an error if the module has no file, as in a notebook.
    """
    path = getattr(module, "__file__", None)
    if path is None or not Path(path).is_file():
        raise PlaceError(f"no file has the code of `{where}`", "put the class into a file")
    if not path.endswith(".py"):
        return _Code(Path(path).name, path, "", hashlib.sha256(Path(path).read_bytes()).hexdigest())
    return _read(Path(path))


def _module(where: str, code: _Code) -> ModuleType:
    """Return the module of a file's code. The code runs once in each process."""
    name = f"netspurt_algorithms_{hashlib.sha256(code.path.encode()).hexdigest()[:8]}_{code.pin}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_loader(name, loader=None, origin=code.path)
    assert spec is not None, "a module can always be made"
    module = importlib.util.module_from_spec(spec)
    module.__file__ = code.path
    sys.modules[name] = module
    if code.path.startswith("<"):
        lines = code.text.splitlines(keepends=True)
        linecache.cache[code.path] = (len(code.text), None, lines, code.path)
    try:
        exec(compile(code.text, code.path, "exec"), module.__dict__)
    except BaseException as error:
        del sys.modules[name]
        if not isinstance(error, Exception):
            raise
        raise PlaceError(*_of_running(where, code, error)) from error
    return module


def _of_running(where: str, code: _Code, error: Exception) -> tuple[str, str]:
    """Return the message and the fix for a file whose code raised an error."""
    if isinstance(error, SyntaxError):
        return f"`{where}` is not Python: {error.msg}", f"see line {error.lineno}"
    own = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == code.path]
    line = own[-1].lineno if own else 1
    return f"`{where}` cannot be run: {type(error).__name__}: {error}", f"see line {line}"


def _constants(written: str | None) -> dict[str, Any]:
    """Read ``k=3,name=word`` as keyword arguments. A value that is not a literal is a text."""
    constants: dict[str, Any] = {}
    for setting in written.split(",") if written is not None else []:
        key, equals, value = (part.strip() for part in setting.partition("="))
        if not (equals and key.isidentifier()) or key in constants:
            raise PlaceError(
                f"`{setting.strip()}` is not a setting", "write key=value, each key once"
            )
        try:
            constants[key] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            constants[key] = value
    return constants
