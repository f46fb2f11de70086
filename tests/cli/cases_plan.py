"""Planning: no cluster, numbers that hold."""
import json

from harness import check, check_equal, check_near, test


@test
def simulate_answers_three_weeks_of_70b_on_one_page(f):
    f.run("simulate", "--gpus", "2048", "--days", "21", "--mtbf-days", "1", "--model",
          "llama3-70b", code=0)
    f.golden()


@test
def simulate_gives_all_numbers_as_json(f):
    made = json.loads(f.run("simulate", "--gpus", "2048", "--mtbf-days", "1", "--params",
                            "70.55e9", "--repair", "3d", "--spares", "8", "-o", "json", code=0)[1])
    for key in ("lost_s", "blocked_s", "restart_s", "queue_s", "failures",
                "closed_form_useful_ratio"):
        check(isinstance(made[key], (int, float)), key)
    check_equal(sorted(made["useful_ratio"]), ["mean", "p5", "p95"])
    parts = sum(made[key] for key in ("useful_s", "lost_s", "blocked_s", "restart_s", "queue_s"))
    check_near(parts, made["wall_s"], 1e-3)
    check_near(made["closed_form_useful_ratio"], 0.97464, 2e-5)
    check_near(made["useful_ratio"]["mean"], 0.9746, 3e-3)


@test
def simulate_compares_strategies(f):
    rows = json.loads(f.run("simulate", "--gpus", "2048", "--mtbf-days", "1", "--params",
                            "70.55e9", "--sweep", "-o", "json", code=0)[1])
    useful = {row["strategy"]: row["useful_ratio"]["mean"] for row in rows}
    check(useful["beside training, 2 s stall"] > useful["blocking"] >
          useful["blocking, every hour"] > useful["blocking, every 4 hours"], str(useful))


@test
def simulate_refuses_what_cannot_be(f):
    f.run("simulate", code=2)
    f.run("simulate", "--gpus", "2048", code=2)
    f.run("simulate", "--gpus", "many", "--mtbf-days", "1", code=2)
    f.run("simulate", "--gpus", "nan", "--mtbf-days", "1", code=2)
    f.run("simulate", "--gpus", "0", "--mtbf-days", "1", "--params", "1e9", code=2)
    f.run("simulate", "--gpus", "1e15", "--mtbf-days", "1", "--params", "1e9", code=2)
    f.run("simulate", "--gpus", "8", "--mtbf-days", "-1", "--params", "1e9", code=2)
    f.run("simulate", "--gpus", "8", "--preset", "lama3", "--params", "1e9", code=2)
    f.run("simulate", "--gpus", "8", "--preset", "llama3", "--mtbf-days", "1", code=2)
    f.run("simulate", "--gpus", "8", "--mtbf-days", "1", code=2)
    f.run("simulate", "--gpus", "8", "--mtbf-days", "1", "--model", "lama3-70b", code=2)
    f.run("simulate", "--gpus", "8", "--mtbf-days", "1", "--stall", "soon", code=2)
    f.golden()
