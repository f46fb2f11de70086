"""A rank under launch: torch checks the fifteen variables of the torchrun contract."""
import os
import sys

NAMES = ("RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE GROUP_RANK GROUP_WORLD_SIZE ROLE_RANK "
         "ROLE_WORLD_SIZE ROLE_NAME MASTER_ADDR MASTER_PORT TORCHELASTIC_RESTART_COUNT "
         "TORCHELASTIC_MAX_RESTARTS TORCHELASTIC_RUN_ID TORCHELASTIC_USE_AGENT_STORE").split()
missing = [name for name in NAMES if not os.environ.get(name)]
if missing:
    sys.exit(f"missing: {missing}")
number = {name: int(os.environ[name]) for name in NAMES if os.environ[name].lstrip("-").isdigit()}
claims = {
    "fifteen names": len(NAMES) == 15,
    "rank below world": 0 <= number["RANK"] < number["WORLD_SIZE"],
    "local rank below local world": 0 <= number["LOCAL_RANK"] < number["LOCAL_WORLD_SIZE"],
    "rank follows from its place":
        number["RANK"] == number["GROUP_RANK"] * number["LOCAL_WORLD_SIZE"] + number["LOCAL_RANK"],
    "world is groups times local": number["WORLD_SIZE"] ==
        number["GROUP_WORLD_SIZE"] * number["LOCAL_WORLD_SIZE"],
    "role equals world": (number["ROLE_RANK"], number["ROLE_WORLD_SIZE"]) ==
        (number["RANK"], number["WORLD_SIZE"]),
    "port outside the ephemeral range": 1024 < number["MASTER_PORT"] < 32768,
    "no agent store": os.environ["TORCHELASTIC_USE_AGENT_STORE"] == "False",
    "no foreign launcher": not any(name.startswith(("SLURM_", "OMPI_", "PMI", "PET_"))
                                   for name in os.environ),
}
wrong = [name for name, holds in claims.items() if not holds]
print(f"rank {number['RANK']}: {'all variables are right' if not wrong else wrong}")
sys.exit(1 if wrong else 0)
