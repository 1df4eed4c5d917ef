"""Where operations are found, and what is said of a file that cannot be used."""

from __future__ import annotations

import ast
import os
import re
import warnings

import pytest

from tests.epilogue.conftest import GOOD
from tests.plan import tensor_space
from tests.plan.space import legal_plans, point
from tests.render.conftest import POINTS
from warpwright.epilogue import registry
from warpwright.epilogue.chain import argument_names
from warpwright.epilogue.idle import idle
from warpwright.epilogue.registry import OPS_VARIABLE, OpError
from warpwright.families.gemm.parts.names import TAKEN
from warpwright.plan import plan
from warpwright.render import render

DERIVED = r"_(vector|rows|columns)$"  # what a kernel appends to an operand's name


def test_an_operation_of_ones_own_joins_the_others(write_op):
    path = write_op()
    assert {"shift", "relu"} <= set(registry.names())
    assert registry.source_path("shift") == path
    assert registry.get("shift").summary == "x + shift"


def test_an_unknown_operation_is_named_with_the_known_ones():
    with pytest.raises(OpError, match=r"'rleu' is unknown; known: alpha, .*relu"):
        registry.get("rleu")


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("OP =", "OPERATION =", "assigns no EpilogueOp to OP"),
        ('name="shift"', 'name="shfit"', "OP.name is 'shfit'; it must be the file's name, 'shift'"),
        ("from warpwright", "from generatro", "ModuleNotFoundError: No module named 'generatro'"),
        ("OP = EpilogueOp(", "OP = EpilogueOp((", "SyntaxError"),
        ("OP = EpilogueOp(", "raise SystemExit(0)\nOP = EpilogueOp(", "SystemExit: 0; an operation's file must import"),
        ('    summary="x + shift",\n', "", "TypeError"),
        ('"x + shift",\n    op', '"two\\nlines",\n    op', "summary is 'two\\nlines'; it must be one line"),
        ('"scalar"', '"vector"', "operand 'shift': kind is 'vector'; it must be one of tile, vector_m"),
        ('("shift", "scalar"),', '("shift", "scalar"), EpilogueOperand("shift", "scalar")', "declared twice"),
        ('Operand("shift"', 'Operand("Shift"', "operand 'Shift': a name is lower-case letters"),
        ('Operand("shift"', 'Operand("lambda"', "operand 'lambda': a name is lower-case letters"),
        ('Operand("shift"', 'Operand("x"', "operand 'x': this is what an operation changes"),
        ('Operand("shift"', 'Operand("shift_2"', "operand 'shift_2': kernels append _1, _2"),
        ('Operand("shift"', 'Operand("shift_rows"', "operand 'shift_rows': kernels append _1, _2"),
        ('"scalar"', '"scalar", "shift"', "only a tile can be skipped, and this is a scalar"),
        ('"shift", "scalar"', '"shift", "tile", "beta"', "skip_if_zero names 'beta', not a scalar of this one (none)"),
        ('(EpilogueOperand("shift", "scalar"),)', '("shift",)', "operands must be a tuple of EpilogueOperand"),
        ('code="x = x + shift"', 'code="y = x + shift"', "code does not assign x"),
        ('code="x = x + shift"', 'code="x = x +"', "code is no Python: "),
        ('code="x = x + shift"', "code=None", "code is no Python: "),
        ('code="x = x + shift"', 'code="x = x + shfit"', "code reads 'shfit', which is neither x nor an operand"),
        ("lambda xp, x, e, o: e", "0.5", "error is 0.5; it must be a function"),
        ("o: e,\n", "o: e,\n    registers=lambda values: values / 2,\n", "registers(16) is 8.0; it must be a whole"),
        (
            "o: e,\n",
            "o: e,\n    registers=lambda values: -2,\n",
            "registers(16) is -2; it must be a whole number, 0 or more",
        ),
        ("o: e,\n", "o: e,\n    registers=lambda: 2,\n", "registers(16) raises TypeError: "),
    ],
)
def test_a_faulty_file_is_refused_with_its_path_and_the_fault(write_op, old, new, fault):
    assert GOOD.count(old) == 1
    path = write_op(GOOD.replace(old, new))
    with pytest.raises(OpError) as caught:
        registry.get("shift")
    assert str(caught.value).startswith(f"{path}: ")
    assert fault in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("shift", "thread", "operand 'thread': the kernel uses this name itself; choose a longer one"),
        ("x = x + shift", "row = 2 * x\\nx = row", "code assigns 'row', a name that the kernel uses itself"),
    ],
)
def test_a_name_that_the_kernel_uses_itself_is_refused_where_it_is_planned(write_op, old, new, fault):
    path = write_op(GOOD.replace('name="shift"', 'name="SHIFT"').replace(old, new).replace("SHIFT", "shift"))
    assert registry.get("shift").name == "shift"
    with pytest.raises(OpError) as caught:
        plan(point({"kernel.epilogue": ["shift"]}))
    assert str(caught.value).startswith(f"{path}: {fault}")


IDLE = "error=lambda xp, x, e, o: e"


@pytest.mark.parametrize(
    ("bound", "told"),
    [
        ("2.0**-24 * xp.abs(x + 1)", ""),
        ("xp.abs(x + 1) / 65", ""),
        ("xp.abs(x + 1) / 63", r"at x = -?\S+, exact: \S+ beside a value of \S+ \(with every operand 1\)"),
        # 0.02 of the value at 1e4, and grows with the input: 1 - 1/64 of it passes.
        ("2e-6 * x * x", r"at x = -10000, exact: 200 beside a value of -1e\+04 \(with every operand 1\)"),
        ("0.1", r"at x = \S+, exact: 0.1 beside a value of \S+ "),
        ("xp.exp(1e6 + x)", r"at x = \S+, exact: inf beside a value of \S+ "),
        ("xp.exp(1e6 + x) * 0", r"at x = \S+, exact: nan beside a value of \S+ "),
        ("2.9 * e", ""),
        ("700 * e", r"at x = -?\S+, off by a 256th: \S+ beside a value of \S+ "),
        ("xp.log(x)", "reference or error raises AttributeError: .*'log'"),
        ("e[:, :, :7]", "reference or error raises ValueError: "),
    ],
)
def test_a_bound_that_proves_nothing_is_told_where_it_is_planned(write_op, bound, told):
    assert GOOD.count(IDLE) == 1
    path = write_op(GOOD.replace(IDLE, f"error=lambda xp, x, e, o: e + ({bound})"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        registry.get("shift")  # that it exists is no use of it
        assert not caught
        for stages in (2, 3):
            plan(point({"kernel.epilogue": ["shift"], "design.stages": stages}))
    assert [warning.category for warning in caught] == [registry.OpWarning] * bool(told)
    assert all(re.match(f"{re.escape(str(path))}: .*{told}", str(warning.message)) for warning in caught), caught


def test_no_operation_of_the_package_has_an_idle_bound():
    assert {name: idle(registry.get(name)) for name in registry.names()} == dict.fromkeys(registry.names(), "")


@pytest.mark.parametrize(
    ("bound", "told"),
    [
        ("xp.where(x < 0, 0.1 + 0 * e, 0 * e)", ""),  # where the value is 0, a bound of 0.1 is nothing to tell
        ("xp.where(x > 9, 0.1 + 0 * e, 0 * e)", "at x = 10, exact: 0.1 beside a value of 1 "),
        ("xp.where(x < 0, e, 0 * e)", ""),
        ("e", "at x = 10000, off by a 256th: 39.1 beside a value of 1 "),  # goes on as it is, where the step is flat
    ],
)
def test_a_bound_is_judged_where_the_value_is(write_op, bound, told):
    """Of a step from 0 to 1."""
    text = GOOD.replace('x + o["shift"]', "xp.where(x < 0, 0 * x, 1 + 0 * x)")
    write_op(text.replace(IDLE, f"error=lambda xp, x, e, o: {bound}"))
    found = idle(registry.get("shift"))
    assert found.startswith(f"error is no bound of use {told}") if told else found == ""


@pytest.mark.parametrize("name", ["a\nimport os", "a b", "my-op", 'a"""', "a\u202eb", "a" * 33])
def test_a_file_whose_name_is_no_plain_word_is_refused(write_op, name):
    write_op(GOOD.replace('name="shift"', f"name={name!r}"), name)
    with pytest.raises(OpError, match="it must be lower-case letters, digits and underscores, 32 at most") as caught:
        registry.get(name)
    assert str(caught.value).isprintable()


def test_all_faults_are_told_at_once(write_op):
    write_op(GOOD.replace('"scalar"', '"vector"').replace("x = x + shift", "y = x"))
    with pytest.raises(OpError, match=r"kind is 'vector'.*; code does not assign x"):
        registry.get("shift")


def test_a_name_that_is_taken_is_refused(write_op):
    path = write_op(GOOD.replace("shift", "relu"), "relu")
    with pytest.raises(OpError, match=f"{path}: the operation 'relu' exists already in .*rename it"):
        registry.names()


def test_a_folder_that_is_not_there_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv(OPS_VARIABLE, os.pathsep.join(["", str(tmp_path / "none")]))
    with pytest.raises(OpError, match=f"{OPS_VARIABLE}: {tmp_path}/none is not a folder"):
        registry.names()


def test_operands_that_come_twice_are_numbered():
    chain = [registry.get(name) for name in ("bias_n", "alpha", "bias_n", "beta_c")]
    named = [[argument for _, argument in step] for step in argument_names(chain)]
    assert named == [["bias_n_1"], ["alpha"], ["bias_n_2"], ["beta", "c"]]


def test_each_of_two_equal_operations_has_its_own_operand():
    chain = ["alpha", {"op": "bias_n", "dtype": "f16"}, "relu", "alpha", "bias_n"]
    planned = plan(point({"kernel.epilogue": chain}))
    operands = {a.name: (a.kind, a.dtype) for a in planned.arguments if a.name.startswith(("alpha", "bias"))}
    assert operands == {
        "bias_n_1": ("vector", "f16"),
        "bias_n_2": ("vector", "f32"),
        "alpha_1": ("scalar", "f32"),
        "alpha_2": ("scalar", "f32"),
    }
    text = render(planned)
    # An unrolled subtile after the first must start from its own scalar again.
    order = ["alpha = alpha_1\n", "bias_n = bias_n_1_columns", "alpha = alpha_2\n", "bias_n = bias_n_2_columns"]
    assert sorted(order, key=text.index) == order


@pytest.mark.slow
def test_the_kernels_names_are_all_reserved():
    """Every name that a rendered kernel binds for itself is closed to operands and temporaries, and no other is."""
    bound = set()
    random = [*legal_plans(seed=5, count=150), *tensor_space.legal_plans(seed=5, count=150)]
    for planned in [*random, *map(plan, POINTS.values())]:
        own = {a.name for a in planned.arguments if len(a.name) > 1 and a.role == "input"}
        own |= {name.rsplit("_", 1)[0] for name in own} | {"x", "c", "power", "_"}  # c is a matrix operand's usual name
        for node in ast.walk(ast.parse(render(planned))):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names = {node.id}
            elif isinstance(node, ast.arg):
                names = {node.arg}
            elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                names = {node.name}
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                names = {alias.asname or alias.name for alias in node.names}
            else:
                continue
            bound |= {n for n in names - own if n == n.lower() and re.sub(DERIVED, "", n) not in own}
    assert bound == TAKEN, "families/gemm/parts/names.py lists them"
