"""Ray, started on this machine or joined where it runs, and its errors in one line each.

Everything in this room works inside ``with connected(address):``. Ray says nothing on standard output there and little
on standard error; the nodes of a cluster that was joined are asked once for their versions; an error of Ray leaves the
block as one of ours, with the node and the remedy. However the block ends, by Ctrl-C too, Ray is left again, and one
that was started here is stopped with all its processes. Where the program has Ray already, it is used and stays.
"""

from __future__ import annotations

import logging
import os
import platform
import signal
import socket
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import tagline
from tagline.errors import InputError, MissingPackageError, TaglineError
from tagline.messages import message

LOCAL = "local"  # the address that starts Ray here
PORT = 6379  # of a head node, where none is given
REACH_SECONDS = 5.0
ASK_SECONDS = 60.0  # in which a node must say its versions

# Read by Ray when it is loaded or started. Whoever has set them otherwise wants it so.
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",  # nothing is sent anywhere
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # what its own warning asks for
    "RAY_BACKEND_LOG_LEVEL": "fatal",
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".",  # it prints on standard output that a worker was lost; the error says so, too
    "RAY_TRAIN_ENABLE_V2_MIGRATION_WARNINGS": "0",
    "RAY_AIR_NEW_OUTPUT": "0",
}

_FULL_DISK = message("make room there, or start Ray with --temp-dir on a larger disk")
# Errors of Ray by the name of their class: what happened, and what to do.
_REMEDIES = {
    "OutOfDiskError": (message("a full disk"), _FULL_DISK),
    "ObjectStoreFullError": (
        message("a full object store"),
        message("start Ray with a larger --object-store-memory or use more nodes"),
    ),
    "OutOfMemoryError": (message("too little memory"), message("use fewer --workers a node or nodes with more memory")),
    "NodeDiedError": (
        message("a node that was lost"),
        message("see that it runs (ray status), and run the command again"),
    ),
    "LocalRayletDiedError": (
        message("a node that was lost"),
        message("see that it runs (ray status), and run the command again"),
    ),
    "RuntimeEnvSetupError": (message("an environment that Ray cannot make"), message("install tagline on every node")),
    "ActorUnschedulableError": (
        message("no node with enough free processors"),
        message("ask for fewer --workers, or see ray status"),
    ),
    "TaskUnschedulableError": (
        message("no node with enough free processors"),
        message("ask for fewer --workers, or see ray status"),
    ),
    "AuthenticationError": (
        message("a cluster that wants a token"),
        message("set RAY_AUTH_TOKEN as its administrator says"),
    ),
}


_WRAPPERS = ("SystemException", "UserCodeException")  # of Ray Data, which say nothing themselves


@dataclass(frozen=True)
class Node:
    """A machine of a cluster.

    Attributes:
        id: Ray's own.
        name: host name and address, as messages have them.
        cpus: that Ray may use there.
        spilled_before: bytes that it had moved from memory to disk when it was joined.

    >>> from tagline import scale
    >>> scale.Node("1f", "alpha (10.0.0.1)", 8).cpus
    8
    """

    id: str
    name: str
    cpus: int
    spilled_before: int = 0


@dataclass(frozen=True)
class Cluster:
    """Ray as it was found.

    Attributes:
        address: that was asked for; ``local`` where it was started here.
        nodes: those that are alive, in the order of their names.

    >>> from tagline import scale
    >>> scale.Cluster("10.0.0.1:6379", (scale.Node("1f", "alpha", 8), scale.Node("2f", "beta", 8))).cpus
    16
    """

    address: str
    nodes: tuple[Node, ...]

    @property
    def cpus(self) -> int:
        """Processors of all nodes."""
        return sum(node.cpus for node in self.nodes)

    def spilled(self) -> list[str]:
        """Say which nodes have moved objects from memory to disk, a line each: it works, but slowly."""
        return [
            message(
                "node {}: the object store was full and {:,.0f} MB went to disk; start Ray with a larger "
                "--object-store-memory, or use more nodes",
                node.name,
                size / 1000000.0,
            )
            for node in self.nodes
            if (size := _spilled_bytes(node.id) - node.spilled_before) > 0
        ]


def import_ray(place: str, part: str = "ray") -> Any:
    """Return `ray` or a part of it, set to be quiet; where it is not installed, the error names the extra."""
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what Ray's own modules do that is deprecated
            return import_module(part)
    except ModuleNotFoundError as error:
        raise MissingPackageError(place, "ray", "pip install 'tagline[ray]'", error) from None


@contextmanager
def connected(
    address: str | None = None, *, cpus: int | None = None, store_bytes: int | None = None, place: str = "--ray"
) -> Iterator[Cluster]:
    """Start or join Ray for the length of a block.

    Arguments:
        address: of a cluster, such as ``10.0.0.1:6379``, ``ray://10.0.0.1:10001`` or ``auto``; when left out that of
            the variable RAY_ADDRESS, and without one Ray is started on this machine.
        cpus: processors of a Ray that is started here; all of the machine when left out.
        store_bytes: memory for objects of a Ray that is started here; Ray chooses when left out.
        place: the name of the option or function, for messages.

    >>> import tagline
    >>> from tagline import scale
    >>> try:
    ...     with scale.connected("127.0.0.1:1") as cluster:
    ...         print(cluster.cpus)
    ... except tagline.InputError as error:
    ...     print(str(error).partition(", got")[0])
    --ray 127.0.0.1:1: expected a Ray cluster that answers there
    """
    ray = import_ray(place)
    if ray.is_initialized():
        _check_same(ray, address, place)
        with _own_interrupts(), _clear_errors(place):
            yield Cluster("its own", _nodes(ray))
        return
    address = address or os.environ.get("RAY_ADDRESS") or LOCAL
    try:
        with _own_interrupts(), _clear_errors(place):
            _start(ray, address, cpus, store_bytes, place)
            cluster = Cluster(address, _nodes(ray))
            if address != LOCAL:
                _check_versions(ray, cluster, place)
            yield cluster
    finally:
        ray.shutdown()


@contextmanager
def _own_interrupts() -> Iterator[None]:
    """Put the handler of Ctrl-C back in the end: Ray Tune and Ray Train leave theirs behind."""
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, handler)


def _check_same(ray: Any, address: str | None, place: str) -> None:
    """Refuse another cluster than the one that this process is in."""
    if not address or address in (LOCAL, "auto") or address.startswith("ray://"):
        return
    _check_reachable(address, place)
    own = ray.get_runtime_context().gcs_address
    if address != own:
        raise InputError(
            "{} {}: expected the cluster that this process is in, {}, got another; leave that first (ray.shutdown())",
            place,
            address,
            own,
        )


def quiet_data() -> Any:
    """Return the module `ray.data` without its bars and reports."""
    data = import_ray("ray.data", "ray.data")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of its own settings
        context = data.DataContext.get_current()
    context.enable_progress_bars = context.enable_operator_progress_bars = False
    context.print_on_execution_start = False
    for name in ("ray.data", "ray.data.dataset"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # it writes whole tracebacks, and raises the error as well
    return data


def _start(ray: Any, address: str, cpus: int | None, store_bytes: int | None, place: str) -> None:
    settings: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    if address == LOCAL:
        settings |= {"num_cpus": cpus, "object_store_memory": store_bytes, "include_dashboard": False}
    elif address != "auto":
        _check_reachable(address, place)
    try:
        with _closed_stderr():
            ray.init(address=address, **settings)
    except (ConnectionError, TimeoutError, SystemExit) as error:  # Ray ends the process where nobody answers
        raise _unreachable(address, place, _first_line(error)) from None
    except RuntimeError as error:
        if "ersion mismatch" not in str(error):
            raise
        facts = " ".join(str(error).split())
        raise InputError(
            "{} {}: expected one version of Ray and Python everywhere, got: {}", place, address, facts
        ) from None


@contextmanager
def _closed_stderr() -> Iterator[None]:
    """Keep lines from the terminal that the C++ part of Ray writes when it starts; what matters is raised, too."""
    try:
        before = os.dup(2)
    except OSError:  # nothing to keep them from
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(before, 2)
        os.close(before)
        os.close(nowhere)


def _check_reachable(address: str, place: str) -> None:
    """Knock first: Ray itself waits for two minutes."""
    place_there = address.removeprefix("ray://")
    host, _, port = place_there.rpartition(":") if ":" in place_there else (place_there, "", str(PORT))
    if not host or not port.isdigit() or "/" in host:
        raise InputError("{}: expected an address such as 10.0.0.1:{}, got {!r}", place, PORT, address)
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=REACH_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise _unreachable(address, place, str(error)) from None


def _unreachable(address: str, place: str, got: str) -> InputError:
    return InputError(
        "{} {}: expected a Ray cluster that answers there, got: {}; start one (ray start --head), "
        "check the address, or leave it out to work on this machine",
        place,
        address,
        got,
    )


def _nodes(ray: Any) -> tuple[Node, ...]:
    nodes = [
        Node(
            node["NodeID"],
            f"{node['NodeManagerHostname']} ({node['NodeManagerAddress']})",
            int(node["Resources"].get("CPU", 0)),
            _spilled_bytes(node["NodeID"]),
        )
        for node in ray.nodes()
        if node["Alive"]
    ]
    return tuple(sorted(nodes, key=lambda node: (node.name, node.id)))


def _check_versions(ray: Any, cluster: Cluster, place: str) -> None:
    """Ask every node once; what runs there must be what runs here."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    def versions() -> dict[str, str]:  # travels by value: a node without tagline can answer, too
        import platform
        from importlib.metadata import PackageNotFoundError, version

        import ray

        try:
            tagline_version = version("tagline")
        except PackageNotFoundError:
            tagline_version = "none"
        return {"tagline": tagline_version, "Python": platform.python_version(), "Ray": ray.__version__}

    here = {"tagline": tagline.__version__, "Python": platform.python_version(), "Ray": ray.__version__}
    task = ray.remote(num_cpus=0, max_retries=1)(versions)
    answers = {
        node: task.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node.id, soft=False)).remote()
        for node in cluster.nodes
    }
    for node, answer in answers.items():
        there = ray.get(answer, timeout=ASK_SECONDS)
        for name, version in here.items():
            if not _fits(name, version, there[name]):
                raise InputError(
                    "{}, node {}: expected {} {}, as here, got {}; install the same versions on every node",
                    place,
                    node.name,
                    name,
                    version,
                    there[name],
                )


def _fits(name: str, here: str, there: str) -> bool:
    """Python may differ in its last number: what it pickles does not."""
    if name == "Python":
        return here.split(".")[:2] == there.split(".")[:2]
    return here == there


@contextmanager
def _clear_errors(place: str) -> Iterator[None]:
    """Turn an error of Ray into one of ours with one line; all others pass."""
    ray = import_ray(place)
    try:
        yield
    except ray.exceptions.RayError as error:
        raise plain_error(error, place) from error


def plain_error(error: BaseException, place: str = "--ray") -> TaglineError:
    """Return what an error of Ray says to a user: one line, with the node and a remedy where they are known.

    An error that our own code raised on a node comes out as it went in.
    """
    ray = import_ray(place)
    causes = list(_causes(error))
    for cause in causes:
        if isinstance(cause, TaglineError) and not isinstance(cause, ray.exceptions.RayError):
            return cause
    for cause in causes:
        for kind in type(cause).__mro__:
            if kind.__name__ in _REMEDIES:
                what, remedy = _REMEDIES[kind.__name__]
                return InputError(
                    "{}: expected the cluster to do its work, got {}; {} ({})", place, what, remedy, _where(cause)
                )
    for cause in causes:
        if isinstance(cause, OSError) and cause.errno == 28:
            return InputError("{}: expected room on the disk, got none; {} ({})", place, _FULL_DISK, _where(cause))
    last = [cause for cause in causes if type(cause).__name__ not in _WRAPPERS][-1]
    return InputError(
        "{}: expected the cluster to do its work, got {}: {}", place, type(last).__name__, _last_line(last)
    )


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Give an error and what is behind it, down to the first."""
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        cause = getattr(link, "cause", None)
        link = cause if isinstance(cause, BaseException) else link.__cause__ or link.__context__


def _where(error: BaseException) -> str:
    """Return the line of a message that names the node, or the first one."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    named = [line for line in lines if "ip:" in line.lower() or "node" in line.lower()]
    text = (named or lines or [type(error).__name__])[0]
    return text if len(text) <= 300 else f"{text[:299]}…"


def _last_line(error: BaseException) -> str:
    """Return the end of a message: where it has a traceback, that is the error."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = lines[-1] if lines else message("no reason")
    return text if len(text) <= 300 else f"{text[:299]}…"


def _first_line(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return message("no answer")
    return str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__


def _spilled_bytes(node_id: str) -> int:
    """Return how many bytes a node has moved to disk; 0 where Ray does not say, as it has no public way to."""
    ray = import_ray("spilled")
    try:
        from ray._private.internal_api import node_stats

        node = next(node for node in ray.nodes() if node["NodeID"] == node_id and node["Alive"])
        stats = node_stats(  # type: ignore[no-untyped-call]
            node["NodeManagerAddress"], node["NodeManagerPort"], include_memory_info=False
        )
        return int(stats.store_stats.spilled_bytes_total)
    except Exception:
        return 0
