"""Asks schedule_probe many questions at once."""
import os
import subprocess


def ask(questions):
    """One answer for each question, in order."""
    done = subprocess.run([os.environ["DW_SCHEDULE_PROBE"]], input="\n".join(questions) + "\n",
                          capture_output=True, text=True, check=True)
    answers = done.stdout.split("\n")[:-1]
    assert len(answers) == len(questions), f"{len(questions)} questions, {len(answers)} answers"
    return answers
