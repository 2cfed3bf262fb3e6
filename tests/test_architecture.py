"""The contracts of the house (DESIGN 1): which room imports which, who may name truth, what is never called."""

import ast
from collections import Counter
from functools import lru_cache
from pathlib import Path

from importlinter.cli import lint_imports

import ui

ROOT = Path(__file__).resolve().parent.parent
CORE = sorted((ROOT / "core").rglob("*.py"))
PAGES = [ROOT / "app.py", *sorted((ROOT / "ui").rglob("*.py")), *sorted((ROOT / "pages").glob("*.py"))]
DEMO = [ROOT / "gradio_app.py", *sorted((ROOT / "demo_server").glob("*.py"))]
# The files that may name truth; a new file is blind until it is listed here. Scorers, matching and training are not:
# they get `GroupSet.blind()`.
READS_TRUTH = {
    *("groups.py", "scenes/sets.py"),  # groups hold it, the built-in world writes it
    *(
        "datasets/score_files.py",
        "datasets/score_faults.py",
        "papers/published.py",
    ),  # the latter measures a file of scores
    # Probes are trained on groups of the training split, and judged on test groups.
    *("ladder/ladder.py", "ladder/_facts.py"),
    *(
        f"metrics/{name}.py"
        for name in ("groups", "evaluation", "alpha_intervals", "paired", "group_metrics")
    ),
    *(f"debiasing/{name}.py" for name in ("curves", "study", "blind")),
    *("ttm/run.py", "ttm/records.py", "ttm/explain.py"),  # what a run measures beside its training
    *(
        "cola/run.py",
        "cola/forgetting.py",
        "sweeps/evaluate.py",
        "papers/measurement_run.py",
        "pretrain/_loop.py",
    ),
    *("figures/group_html.py", "teaching/lessons.py", "teaching/single_group.py"),
    *(
        f"exchange/{name}.py"
        for name in ("groups", "columns", "_import_rows", "report", "run_pairs", "run_gains", "run_report")
    ),
    *(f"rejudge/{name}.py" for name in ("_submission", "_judging")),
    *(f"audit/{name}.py" for name in ("_audit", "_rules", "_facts")),
    *(f"cli/{name}.py" for name in ("_alpha_files", "_adapt", "_evaluation", "alpha", "export", "runs")),
}
# Imports of core inside functions: on the command line and in the worker, which wait for nobody's pandas, and where a
# comment names the heavy library that stays out.
SURFACE = 609
HEAVY = {"torch", "transformers", "openai", "ray", "gradio", "numpy", "scipy", "pandas", "plotly", "pydantic"}


def short(path: Path) -> str:
    return str(path.relative_to(ROOT))


@lru_cache(maxsize=1)  # a test goes from file to file, and asks for several kinds of each
def all_nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(path.read_text())))


def nodes(path: Path, *kinds: type) -> list:
    return [node for node in all_nodes(path) if isinstance(node, kinds)]


def names(path: Path) -> set[str]:
    """Every identifier of a file."""
    fields = ("id", "attr", "arg", "name")
    found = (getattr(node, field, None) for node in all_nodes(path) for field in fields)
    return {name for name in found if isinstance(name, str)}


def imports(path: Path) -> set[str]:
    plain = {alias.name for node in nodes(path, ast.Import) for alias in node.names}
    return plain | {node.module or "" for node in nodes(path, ast.ImportFrom)}


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_modules(path: Path) -> set[str]:
    """Like `imports`, with `core.scorers._pairwise` for `from core.scorers import _pairwise` too."""
    members = {f"{n.module}.{alias.name}" for n in nodes(path, ast.ImportFrom) for alias in n.names}
    return imports(path) | members


def test_rooms_import_the_rooms_below_them_alone():
    assert lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True) == 0


def test_truth_is_named_by_the_listed_files_and_by_no_other():
    found = {str(p.relative_to(ROOT / "core")) for p in CORE if any("truth" in n.lower() for n in names(p))}
    assert found == READS_TRUTH


def room(module: str) -> str:
    """`core.scorers` of `core.scorers._pairwise`; a file beside the rooms is its own."""
    return ".".join(module.split(".")[:2])


def test_a_module_with_an_underscore_is_imported_inside_its_room_alone():
    """What a room keeps to itself. Tests and benchmarks may look at it."""
    private = {
        module_name(path) for path in CORE if path.stem.startswith("_") and not path.stem.startswith("__")
    }
    outside = {
        f"{short(path)} imports {module}"
        for path in [*CORE, *PAGES, *DEMO, *sorted((ROOT / "crossmatch").glob("*.py"))]
        for module in imported_modules(path) & private
        if room(module) != room(module_name(path))
    }
    assert private and not outside


def test_the_surface_of_core_stays_small():
    """Public functions and classes of public modules, and what an `__init__` gives of the others (DESIGN 1)."""
    public = [path for path in CORE if path.stem == "__init__" or not path.stem.startswith("_")]
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    defined = [n.name for path in public for n in ast.parse(path.read_text()).body if isinstance(n, kinds)]
    given = [
        alias.name
        for path in public
        if path.stem == "__init__"
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ImportFrom)
        and (node.module or "").startswith("core.")
        and (node.module or "").rpartition(".")[2].startswith("_")
        for alias in node.names
    ]
    assert len([name for name in [*defined, *given] if not name.startswith("_")]) <= SURFACE


def test_core_imports_no_page_code():
    pages = {"streamlit", "gradio", "ui", "app", "pages", "altair", "demo_server"}
    assert not [short(path) for path in CORE if pages & {name.split(".")[0] for name in imports(path)}]


def test_what_serves_the_demo_knows_neither_the_demo_nor_the_app_nor_a_model():
    known = {"core.base.gate", "core.base.processes"}
    for path in DEMO[1:]:
        own = {
            name for name in imports(path) if name.split(".")[0] in ("core", "ui", "streamlit", "gradio_app")
        }
        assert own <= known, short(path)


def inner_imports(path: Path) -> list[ast.ImportFrom]:
    """Imports of core inside functions."""
    functions = nodes(path, ast.FunctionDef, ast.AsyncFunctionDef)
    inside = {id(node): node for function in functions for node in ast.walk(function)}
    found = [node for node in inside.values() if isinstance(node, ast.ImportFrom)]
    return [node for node in found if (node.module or "").split(".")[0] == "core"]


def test_pages_use_the_names_that_ui_gives():
    """A module of ui shadows nothing: `ui.cached` may name a module where a function was meant."""
    used = {
        (short(path), node.attr)
        for path in PAGES
        for node in nodes(path, ast.Attribute)
        if isinstance(node.value, ast.Name) and node.value.id == "ui"
    }
    assert used and not {(path, name) for path, name in used if name not in ui.__all__}


def test_imports_inside_functions_are_few_and_name_the_heavy_library_that_they_keep_out():
    inside = [(path, node) for path in CORE for node in inner_imports(path)]
    silent = []
    for path, node in inside:
        comment = path.read_text().splitlines()[node.end_lineno - 1].partition("#")[2]
        if not HEAVY & set(comment.replace(",", " ").split()):
            silent.append(f"{short(path)}:{node.lineno} says nothing")
    assert not silent
    assert 0 < len(inside) <= 60


def constants(path: Path) -> list[str]:
    """The names that a file binds outside functions and classes, once for every time."""
    body = ast.parse(path.read_text()).body
    targets = [t for node in body if isinstance(node, ast.Assign) for t in node.targets]
    targets += [node.target for node in body if isinstance(node, ast.AnnAssign)]
    return [n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)]


def test_no_constant_is_bound_twice():
    twice = [
        f"{short(path)}: {name}"
        for path in [*CORE, *PAGES]
        for name, count in Counter(constants(path)).items()
        if count > 1
    ]
    assert not twice


def called_names(path: Path) -> set[str]:
    return {call.func.id for call in nodes(path, ast.Call) if isinstance(call.func, ast.Name)}


def test_core_prints_nothing_but_on_the_command_line():
    assert not [short(p) for p in CORE if p.parent.name != "cli" and "print" in called_names(p)]


def test_nothing_unsafe_is_called():
    """No eval, no pickle, no remote code: what a file or a hub holds is data."""
    unsafe = []
    for path in [*CORE, *PAGES, *DEMO]:
        found = called_names(path) & {"eval", "exec"}
        found |= {name.split(".")[0] for name in imports(path)} & {"pickle", "dill", "joblib"}
        found |= {"trust_remote_code=True"} if "trust_remote_code=True" in path.read_text() else set()
        unsafe += [f"{short(path)}: {name}" for name in found]
    assert not unsafe


def test_no_address_of_a_registry_and_no_path_of_a_machine_is_committed():
    for name in ("requirements.lock", "tests/requirements-mteb.lock", "tests/requirements-eee.lock"):
        lock = (ROOT / name).read_text()
        assert "://" not in lock
        assert "--hash=sha256:" in lock


def test_no_openable_panel_has_an_icon():
    """Streamlit draws the icon in place of the arrow, so that the panel looks like a line of text."""
    calls = [(path, call) for path in PAGES for call in nodes(path, ast.Call)]
    opened = [(p, c) for p, c in calls if isinstance(c.func, ast.Attribute) and c.func.attr == "expander"]
    assert opened
    assert not [f"{short(p)}:{c.lineno}" for p, c in opened if any(k.arg == "icon" for k in c.keywords)]
