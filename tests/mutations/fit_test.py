"""Every mutation still finds the one place it is to break; whether it is noticed is for scripts/mutate."""
import pathlib
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
mutations = tomllib.loads((ROOT / "tests" / "mutations" / "mutations.toml").read_text())["mutation"]
lost = [one["name"] for one in mutations if (ROOT / one["file"]).read_text().count(one["find"]) != 1]
for name in lost:
    print(f"fits no longer: {name}")
print(f"{len(mutations) - len(lost)} of {len(mutations)} mutations fit")
sys.exit(bool(lost))
