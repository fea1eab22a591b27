"""The pool of threads: every part once, errors to the caller, and a process that ends or forks."""

import os
import subprocess
import sys
import textwrap
import threading

import pytest

import headrace_cpu
from headrace_cpu import _native


def run_python(code, **env):
    """What a fresh interpreter prints; a variable that is None is not set."""
    given = {name: value for name, value in (os.environ | env).items() if value is not None}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=60,
        env=given,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


STACK = 1 << 28
"""Bytes that a thread of a limited process takes: far more than all else that it asks for."""


def run_limited(code):
    """A fresh interpreter whose threads have stacks of ``STACK`` bytes."""
    import resource  # of Unix

    def limit():
        resource.setrlimit(resource.RLIMIT_STACK, (STACK, resource.RLIM_INFINITY))

    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=limit,
        check=True,
    )


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize(("count", "grain"), [(0, 1), (1, 1), (7, 2), (100, 1), (64, 64), (5, 9)])
def test_every_part_is_done_once(threads, count, grain):
    """Parts are of a grain at most, or the whole, and cover the range, whoever does them."""
    headrace_cpu.set_threads(threads)
    parts = []
    _native.parallel_for(count, grain, lambda begin, end: parts.append((begin, end)))
    done = sorted(i for begin, end in parts for i in range(begin, end))
    assert done == list(range(count))
    assert all(end - begin <= grain for begin, end in parts) or parts == [(0, count)]


def test_several_threads_work_on_one_loop():
    """Two bodies that wait for each other both get there."""
    headrace_cpu.set_threads(2)
    both = threading.Barrier(2, timeout=30)
    who = set()

    def body(begin, end):
        both.wait()
        who.add(threading.get_ident())

    _native.parallel_for(2, 1, body)
    assert len(who) == 2


def test_loops_inside_and_beside_a_loop_run_on_their_callers():
    """Neither waits for the pool that the first one has."""
    headrace_cpu.set_threads(2)
    done = []

    def body(begin, end):
        for _ in range(begin, end):
            _native.parallel_for(4, 1, lambda b, e: done.extend(range(b, e)))

    callers = [threading.Thread(target=_native.parallel_for, args=(3, 1, body)) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert sorted(done) == sorted([*range(4)] * 12)


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_an_error_reaches_the_caller_and_the_pool_goes_on(threads):
    """The first error of a body is the call's; the next loop is whole."""
    headrace_cpu.set_threads(threads)

    def fail(begin, end):
        raise RuntimeError("broken part")

    for _ in range(3):
        with pytest.raises(RuntimeError, match="broken part"):
            _native.parallel_for(50, 1, fail)
    parts = []
    _native.parallel_for(50, 1, lambda begin, end: parts.append(end - begin))
    assert sum(parts) == 50


@pytest.mark.parametrize("count", [0, -1, 1025])
def test_a_number_of_threads_that_cannot_be_is_refused(count):
    """And says what may be."""
    with pytest.raises(ValueError, match=f"threads is {count} but must be from 1 to 1024"):
        headrace_cpu.set_threads(count)


@pytest.mark.parametrize("count", [1.5, "2", None, True])
def test_what_is_no_number_of_threads_is_refused(count):
    """The error says what may be given."""
    with pytest.raises(TypeError, match=f"whole number from 1 to 1024, not {count!r}"):
        headrace_cpu.set_threads(count)


def test_a_body_cannot_change_the_threads_that_run_it():
    """It would wait for itself."""
    with pytest.raises(RuntimeError, match="cannot change the threads"):
        _native.parallel_for(2, 1, lambda begin, end: headrace_cpu.set_threads(2))


def test_the_variable_says_how_many():
    """Without it, the cores that the process may use."""
    ask = "import headrace_cpu; print(headrace_cpu.threads())"
    assert run_python(ask, HEADRACE_CPU_THREADS="3") == "3"
    assert run_python(ask) == str(headrace_cpu.threads())


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("HEADRACE_CPU_THREADS", "many", "it must be a number from 1 to 1024"),
        ("HEADRACE_CPU_THREADS", "0", "it must be a number from 1 to 1024"),
        ("HEADRACE_CPU_ISA", "mmx", "it must be baseline, avx2, avx512 or avx512_vnni"),
    ],
)
def test_a_variable_that_says_nonsense_is_an_error_of_the_device(name, value, said):
    """Opening it says which variable and what it may be; nothing is guessed."""
    code = """
        import headrace_cpu.plugin as plugin
        from headrace.errors import SettingError
        try:
            next(iter(plugin.headrace_devices())).open(0)
        except SettingError as error:
            print(error)
    """
    text = run_python(code, **{name: value})
    assert text.startswith(f"{name} is '{value}'")
    assert said in text


def test_an_older_instruction_set_can_be_asked_for():
    """Every machine has the baseline, its oldest; what one has does not depend on what is asked."""
    ask = "from headrace_cpu import _native; print(_native.isa(), *_native.isas())"
    newest, *isas = run_python(ask, HEADRACE_CPU_ISA="").split()
    assert isas[0] == "baseline"
    assert newest == isas[-1]
    for isa in isas:
        assert run_python(ask, HEADRACE_CPU_ISA=isa).split() == [isa, *isas]


@pytest.mark.parametrize("name", ["HEADRACE_CPU_THREADS", "HEADRACE_CPU_ISA"])
def test_a_variable_that_is_set_to_nothing_is_not_set(name):
    """As everywhere: a script that passes a variable on need not ask whether there is one."""
    ask = "from headrace_cpu import _native; print(_native.isa(), _native.threads())"
    assert run_python(ask, **{name: ""}) == run_python(ask, **{name: None})


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system places threads")
def test_threads_stay_where_the_process_may_run():
    """More threads than processors, which they have to lend each other, end every loop."""
    code = """
        import os
        one = {min(os.sched_getaffinity(0))}
        os.sched_setaffinity(0, one)
        from headrace_cpu import _native
        _native.set_threads(4)
        done = []
        for _ in range(50):
            _native.parallel_for(64, 1, lambda begin, end: done.extend(range(begin, end)))
        assert sorted(done) == sorted(list(range(64)) * 50)
        tasks = {int(task) for task in os.listdir("/proc/self/task")}
        print(len(tasks) >= 4, all(os.sched_getaffinity(task) == one for task in tasks))
    """
    assert run_python(code) == "True True"


def test_a_process_ends_with_threads_that_spin_or_sleep():
    """They are told to go before the interpreter does."""
    code = """
        from headrace_cpu import _native
        _native.set_threads(3)
        _native.parallel_for(100, 1, lambda begin, end: None)
        print("ended")
    """
    assert run_python(code) == "ended"


@pytest.mark.parametrize("call", ["launch()", "_native.parallel_for(1, 1, lambda b, e: None)"])
def test_a_process_ends_while_a_daemon_thread_is_in_a_kernel(call):
    """It comes back to an interpreter that is no more, and must not take the process down."""
    code = f"""
        import threading
        import numpy as np
        from headrace_cpu import _native
        x = np.ones(1 << 20)
        launch = _native.unary("sqrt", x, x)
        begun = threading.Event()
        def work():
            while True:
                {call}
                begun.set()
        threading.Thread(target=work, daemon=True).start()
        begun.wait()
        print("ended")
    """
    assert run_python(code) == "ended"


def test_a_forked_child_makes_threads_of_its_own():
    """Those of its parent are not there, and what they held is nobody's."""
    code = """
        import os
        from headrace_cpu import _native
        _native.set_threads(2)
        def count():
            parts = []
            _native.parallel_for(100, 1, lambda begin, end: parts.append(end - begin))
            return sum(parts)
        count()
        child = os.fork()
        if child == 0:
            os._exit(count())
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), count())
    """
    assert run_python(code) == "100 100"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits stacks of threads")
@pytest.mark.skipif(
    not {"ASAN_OPTIONS", "TSAN_OPTIONS"}.isdisjoint(os.environ),
    reason="threads of a sanitized process take more than their stacks",
)
@pytest.mark.parametrize("most", [1, 2, 4])
def test_kernels_run_on_the_threads_that_the_system_starts(most):
    """Those that there is room for; said once, and tried again when the number is set."""
    code = f"""
        import resource
        from headrace_cpu import _native
        def limit(nbytes):
            resource.setrlimit(resource.RLIMIT_AS, (nbytes, resource.RLIM_INFINITY))
        def count():
            parts = []
            _native.parallel_for(100, 1, lambda begin, end: parts.append(end - begin))
            return sum(parts)
        _native.set_threads(5)
        pages = int(open("/proc/self/statm").read().split()[0])
        limit(pages * resource.getpagesize() + ({most} - 1) * {STACK} + {STACK} // 2)
        found = [count(), count(), _native.threads()]
        limit(resource.RLIM_INFINITY)
        _native.set_threads(3)
        print(*found, count(), _native.threads())
    """
    done = run_limited(code)
    assert done.stdout.split() == ["100", "100", str(most), "100", "3"]
    assert done.stderr.count("headrace_cpu: kernels run on") == 1
    assert f"{most} of 5 threads" in done.stderr
