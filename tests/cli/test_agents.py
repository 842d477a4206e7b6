"""Teachers by every option that names one."""

import json

import numpy as np
import pytest

from moet import load
from moet.cli.output import Exit
from moet.teachers import Teacher

QUICK = ("--experts", 2, "--depth", 0, "--hard", "--iterations", 1, "--rollouts", 3, "--episodes", 3)
LEAN = np.array([[0.0, 0.0], [0.0, 0.0], [-1.0, 1.0], [-0.3, 0.3]])


@pytest.fixture
def distilled(run, tmp_path):
    def distilled(*teacher):
        result = run("distill", "cartpole", *teacher, *QUICK, "-o", tmp_path / "p.moet.json", "--json")
        assert result.exit_code == Exit.OK, result.stderr
        return json.loads(result.stdout)["evaluation"]

    return distilled


def test_an_onnx_file(run, distilled, tmp_path):
    onnx = pytest.importorskip("onnx")
    from onnx import TensorProto, helper, numpy_helper

    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "W"], ["y"])],
        "lean",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 2])],
        [numpy_helper.from_array(LEAN.astype(np.float32), "W")],
    )
    onnx.save(helper.make_model(graph), tmp_path / "net.onnx")
    assert distilled("--onnx", tmp_path / "net.onnx")["fidelity"] > 0.9
    again = run("evaluate", tmp_path / "p.moet.json", "--onnx", tmp_path / "net.onnx", "--episodes", 2, "--json")
    assert json.loads(again.stdout)["evaluation"]["fidelity"] > 0.9


def test_a_file_of_pytorch(run, distilled, tmp_path):
    torch = pytest.importorskip("torch")
    state = {"actor.0.weight": torch.eye(4), "actor.2.weight": torch.tensor(LEAN.T)}
    torch.save(state, tmp_path / "agent.pt")
    assert distilled("--torch", tmp_path / "agent.pt", "--activation", "tanh")["fidelity"] > 0.9
    refused = run("distill", "cartpole", "--torch", tmp_path / "agent.pt", "-o", tmp_path / "p.json")
    assert refused.exit_code == Exit.USAGE
    assert "--activation" in refused.stderr


def test_a_function_and_a_teacher_by_name(run, distilled, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_agent_of_tests.py").write_text(
        "import numpy as np\n"
        "from moet.teachers import Teacher\n"
        "def act(rows):\n"
        "    return (rows[:, 2] + 0.3 * rows[:, 3] > 0).astype(int)\n"
        "teacher = Teacher.from_callable(act)\n"
        "number = 3\n"
    )
    for name in ("act", "teacher", "teacher.act"):
        assert distilled("--agent", f"my_agent_of_tests:{name}")["fidelity"] > 0.9
    for name, complaint in (
        ("my_agent_of_tests", "MODULE:NAME"),
        ("my_agent_of_tests:nothing", "my_agent_of_tests has no nothing"),
        ("my_agent_of_tests:number", "is a int, neither a function nor a Teacher"),
        ("no_such_module_at_all:act", "cannot import no_such_module_at_all"),
    ):
        refused = run("distill", "cartpole", "--agent", name, "-o", tmp_path / "p.json")
        assert refused.exit_code == Exit.USAGE
        assert complaint in refused.stderr


def test_a_folder_of_the_hub(distilled, tmp_path):
    pytest.importorskip("torch")
    sb3 = pytest.importorskip("stable_baselines3")
    (tmp_path / "hub").mkdir()
    model = sb3.DQN("MlpPolicy", "CartPole-v1", device="cpu", seed=0, buffer_size=10)
    model.save(tmp_path / "hub" / "dqn-CartPole-v1.zip")
    distilled("--folder", tmp_path / "hub")
    digest = Teacher.from_sb3(tmp_path / "hub" / "dqn-CartPole-v1.zip").digest
    assert load(tmp_path / "p.moet.json").provenance["teacher"] == digest


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--sb3", "a.zip", "--onnx", "b.onnx"), "--sb3 and --onnx name 2 teachers; give one"),
        (("--normalize", "v.pkl"), "name it with --sb3, --onnx or --torch"),
        (("--arrays", "a.npz", "--trust"), "name it with --sb3"),
        (("--activation", "tanh"), "name it with --torch"),
        (("--data", "folder", "--sb3", "a.zip"), "--data is learned from without a teacher; name either of them"),
    ],
)
def test_options_that_contradict_each_other_are_refused(run, tmp_path, options, complaint):
    refused = run("distill", "cartpole", *options, "-o", tmp_path / "p.json")
    assert refused.exit_code == Exit.USAGE
    assert complaint in refused.stderr


@pytest.fixture
def recording(tmp_path):
    rng = np.random.default_rng(0)
    seen = rng.normal(size=(400, 4))
    np.savez(tmp_path / "data.npz", observations=seen, actions=(seen[:, 2] > 0).astype(int), lengths=[40] * 10)
    return tmp_path / "data.npz"


def test_recorded_episodes_need_no_environment(run, recording, tmp_path):
    result = run("distill", "--data", recording, "--tree", 2, "-o", tmp_path / "p.moet.json")
    assert result.exit_code == Exit.OK, result.stderr
    assert "on 2 held-out episodes" in result.stdout
    model = load(tmp_path / "p.moet.json")
    assert model.predict([[0, 0, 1.0, 0], [0, 0, -1.0, 0]]).tolist() == [1, 0]


def test_recorded_episodes_of_a_task_have_its_names(run, recording, tmp_path):
    command = ("distill", "cartpole", "--data", recording, "--tree", 2, "-o", tmp_path / "p.moet.json", "--json")
    document = json.loads(run(*command).stdout)
    assert document["fidelity"] > 0.95
    assert (document["episodes"], document["held_out"], document["rows"]) == (8, 2, 400)
    assert load(tmp_path / "p.moet.json").classes.tolist() == ["left", "right"]


def test_recorded_rows_of_numbers_make_laws_without_any_option(run, tmp_path):
    seen = np.random.default_rng(0).normal(size=(400, 3))
    np.savez(tmp_path / "data.npz", observations=seen, actions=seen[:, :2] @ [[1, 2], [3, 4]], lengths=[40] * 10)
    command = ("distill", "--data", tmp_path / "data.npz", "-o", tmp_path / "p.moet.json")
    result = run(*command)
    assert result.exit_code == Exit.OK, result.stderr
    assert "of the range on held-out episodes, mean; R² 1.0000" in result.stdout
    assert load(tmp_path / "p.moet.json").outputs == ("u0", "u1")
    assert json.loads(run(*command, "--json").stdout)["r2"] > 0.99
    assert "--boosted experts vote for labels" in run(*command, "--boosted").stderr
