# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run by gdb or lldb on the program: printers and natvis file show what the library itself says, and survive damage."""
import itertools
import os
import random
import re
import sys
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGED = Path(os.environ["ASHLAR_DEBUGGERS"])
sys.path[:0] = [str(HERE), str(PACKAGED)]

from ashlar_printers.debugger import gdb  # noqa: E402  (the path is set just above)

DAMAGE = 20  # overwritten words of each object, in each of the settings of CMakeLists.txt others


class Gdb:
    """What the checks ask of a debugger, the program being stopped."""

    def __init__(self):
        for setting in ("confirm off", "pagination off", "startup-with-shell off", "print thread-events off",
                        "debuginfod enabled off"):
            gdb.execute(f"set {setting}")
        gdb.execute(f"source {PACKAGED / 'ashlar_gdb.py'}")
        for command in ("break stop_here", "run", "up"):
            gdb.execute(command, to_string=True)
        self.value, self.printer = gdb.parse_and_eval, gdb.default_visualizer
        self.write = gdb.selected_inferior().write_memory

    def display(self, name):
        return gdb.execute(f"print {name}", to_string=True)

    def end(self, outcome):
        gdb.execute("kill")
        gdb.execute(f"quit {outcome}")


class Lldb:
    def __init__(self, debugger):
        self.debugger = debugger
        self.target = debugger.GetSelectedTarget()
        self.target.BreakpointCreateByName("stop_here")
        debugger.HandleCommand(f"command script import {PACKAGED / 'ashlar_lldb.py'}")
        thread = self.target.LaunchSimple(None, None, str(HERE)).GetSelectedThread()
        thread.SetSelectedFrame(1)
        self.frame = thread.GetSelectedFrame()
        gdb.look_at(self.target)
        from ashlar_printers.types import printer_of
        self.printer = printer_of

    def value(self, expression):
        name, *members = expression.split(".")
        found = gdb.Value(self.frame.FindVariable(name) or self.target.FindFirstGlobalVariable(name))
        for member in members:
            found = found[member]
        return found

    def display(self, name):
        import lldb
        result, command = lldb.SBCommandReturnObject(), "frame" if self.frame.FindVariable(name) else "target"
        self.debugger.GetCommandInterpreter().HandleCommand(
            f"{command} variable {name}", lldb.SBExecutionContext(self.frame), result)
        assert result.Succeeded(), result.GetError()
        return result.GetOutput()

    def write(self, address, data):
        import lldb
        why = lldb.SBError()
        self.target.GetProcess().WriteMemory(address, data, why)
        assert why.Success(), why

    def end(self, outcome):
        self.target.GetProcess().Kill()
        sys.stdout.flush()
        os._exit(outcome)


session = None


def value(expression):
    return session.value(expression)


def fact(name):
    return int(value(f"facts.{name}"))


def printer(name):
    found = session.printer(value(name))
    assert found is not None, f"{name} has no printer"
    return found


def parts(name):
    return [(key, part) for key, part in itertools.islice(printer(name).children(), 300)]


def shown(name):
    return printer(name).to_string()


def bytes_in(text):
    """Reads amounts back: `304 KiB` is 311296."""
    units = {"byte": 1, "bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20}
    return [int(number) * units[unit] for number, unit in re.findall(r"(\d+) (bytes?|KiB|MiB)", text)]


def same(got, wanted):
    assert got == wanted, f"\n     got {got}\n  wanted {wanted}"


def check_pools():
    for name, kind, cell_bytes in (("pool", "block_pool", 24), ("fixed", "fixed_block_pool", 40)):
        live, capacity, slabs = fact(f"{name}_cells.live"), fact(f"{name}_cells.capacity"), fact(f"{name}_cells.slabs")
        same(shown(name), f"{kind}: {live} live of {capacity} cells of {cell_bytes} bytes, {slabs} slabs")
        cells = [int(value(f"facts.{name}_cells.cells")[i]) for i in range(live)]
        same([int(cell) for _, cell in parts(name)], sorted(cells))
    same(shown("unused"), "block_pool: 0 live of 0 cells of 64 bytes, 0 slabs")


def check_arenas():
    for name in ("arena", "buffered", "empty_arena"):
        text = shown(name)
        same(bytes_in(text), [fact(f"{name}.{figure}") for figure in ("used", "high_water", "held")])
        same(sum(bytes_in(str(part))[0] for _, part in parts(name)), fact(f"{name}.used"))
    assert "3 chunks" in shown("arena"), shown("arena")


def check_heaps():
    for name in ("local", "shared"):
        text = shown(name)
        same(int(re.search(r"(\d+) live block", text).group(1)), fact(f"{name}.blocks"))
        same(bytes_in(text), [fact(f"{name}.bytes"), fact(f"{name}.held")])
    assert shown("local").endswith(f"{fact('local.segments')} segment"), shown("local")
    of_size = {key: str(part).split(",")[0] for key, part in parts("local")}
    same(of_size["[spans]"], "1 live")
    same(of_size["[huge]"], "1 live")
    assert shown("shared").endswith("2 thread heaps, 1 parked"), shown("shared")
    same([key.split(",")[0].rstrip("]") for key, _ in parts("shared")],
         ["[common", "[thread heap 0", "[thread heap 1"])
    part = session.printer(dict(parts("shared"))["[thread heap 1]"]).to_string()
    assert part.startswith("engine: 5 live blocks, "), part


def check_objects():
    for name in ("orc", "constant"):
        same(shown(name), f"ref_ptr: {int(value('orc')['object_']):#x}, 2 references")
    same([(key, int(part["health"])) for key, part in parts("orc")], [("[object]", 50)])
    same(shown("none"), "ref_ptr: null")
    assert shown("any").endswith(", 1 reference"), shown("any")
    assert shown("counted").endswith(", the object counts"), shown("counted")
    for name in ("bounded", "inside", "grown", "of_any"):
        same(shown(name), f"object_pool: {fact(f'{name}.live')} live of {fact(f'{name}.capacity')} objects")
        same(sorted(int(part["health"]) for _, part in parts(name)), [100, 102])


def check_map():
    same(shown("map"), "slot_map: 2 objects, 2 slots, 0 retired")
    wanted = {"last": 60, "kept": 30}
    handles = {f"[{fact(f'{name}.index_')}, {fact(f'{name}.generation_')}]": health for name, health in wanted.items()}
    same({key: int(part["health"]) for key, part in parts("map")}, handles)


def check_display():
    for name, part in (("arena", "bytes of"), ("orc", "health = 50"), ("map", "health = 60"), ("pool", "[2] = 0x")):
        text = session.display(name)
        assert shown(name) in text and part in text, text


def check_garbage():
    for name in ("pool", "fixed", "arena", "local", "shared", "ref", "map", "objects"):
        text = shown(f"bad_{name}")
        assert "not initialised, or damaged" in text and "no member" not in text, text
        same(parts(f"bad_{name}"), [])
        assert text in session.display(f"bad_{name}")


def check_damage():
    """Overwrites a word of each object, prints it, and mends it: nothing raises, and nothing goes on forever."""
    program = gdb.selected_inferior()
    dice = random.Random(os.environ["ASHLAR_PROGRAM"])
    for name in ("pool", "fixed", "arena", "buffered", "local", "shared", "orc", "map", "bounded", "inside", "grown"):
        start, size = int(value(name).address), value(name).type.sizeof
        for _ in range(DAMAGE):
            at = start + dice.randrange(0, size, 8)
            was = bytes(program.read_memory(at, 8))
            damage = dice.choice([dice.randbytes(8), bytes(8), b"\xff" * 8, start.to_bytes(8, "little")])
            session.write(at, damage)
            assert "no member" not in shown(name), shown(name)
            parts(name)
            session.display(name)
            session.write(at, was)


def check_natvis():
    from natvis import Natvis
    natvis = Natvis(PACKAGED / "ashlar.natvis")
    of_type = [sorted(re.sub(r"(::detail)?::\w+<\*>", "", name) for name in names) for names in natvis.names()]
    assert all(names == of_type[0] for names in of_type), "types are known under different namespaces"
    same(natvis.summary(value("map")), "{size=2, slots=2, retired=0}")
    same([int(entry["generation"]) for _, entry in natvis.items(value("map"))],
         [fact("last.generation_"), fact("kept.generation_")])
    for name in ("arena", "buffered"):
        text = natvis.summary(value(name))
        assert text.startswith(f"{{used={fact(f'{name}.used')} bytes, held={fact(f'{name}.held')} bytes"), text
    chunks = [part for key, part in natvis.items(value("arena")) if re.fullmatch(r"\[\d+\]", key)]
    same(sum(int(chunk) for chunk in chunks), fact("arena.held"))
    same(natvis.summary(value("none")), "null")
    same([int(part["health"]) for _, part in natvis.items(value("orc"))], [50])
    check_natvis_counts(natvis)


def check_natvis_counts(natvis):
    for name in ("pool", "fixed"):
        items = dict(natvis.items(value(name)))
        waiting = bin(int(items["[taken, not handed out: a mask]"])).count("1")
        figures = re.match(r"{taken=(\d+) of (\d+) cells of (?:24|40) bytes", natvis.summary(value(name)))
        taken, cells = map(int, figures.groups())
        same((taken - waiting, cells), (fact(f"{name}_cells.live"), fact(f"{name}_cells.capacity")))
    text = natvis.summary(value("local"))
    assert text.startswith(f"{{held={fact('local.held')} bytes, segments={fact('local.segments')}, "), text
    same(int(dict(natvis.items(value("local")))["[huge bytes]"]), 8792 << 10)
    same(natvis.summary(value("shared")), f"{{held={fact('shared.held')} bytes}}")
    parts_of_threads = natvis.items(value("shared"))
    same(len(parts_of_threads), 3)
    for _, part in parts_of_threads:
        natvis.summary(part)
        natvis.items(part)


def run(debugger, checks):
    global session
    outcome = 1  # gdb would go on after an error, and end with 0
    try:
        session = debugger()
        for check in checks:
            check()
            print(f"passed {check.__name__}")
        outcome = 0
    except BaseException:
        traceback.print_exc(file=sys.stdout)
    session.end(outcome)


CHECKS = [check_pools, check_arenas, check_heaps, check_objects, check_map, check_display, check_garbage, check_damage]


def __lldb_init_module(debugger, _):
    run(lambda: Lldb(debugger), CHECKS)


if "gdb" in sys.modules:
    run(Gdb, [*CHECKS, check_natvis])
