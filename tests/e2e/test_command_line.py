"""What holds for every verb: exit codes, results on stdout, everything else on stderr."""

import json
import subprocess


def run(program, *arguments):
    return subprocess.run([str(program), *arguments], capture_output=True, text=True, timeout=60,
                          stdin=subprocess.DEVNULL)


def test_version_and_help_go_to_stdout(program):
    version = run(program, "--version")
    assert (version.returncode, version.stderr) == (0, "")
    assert version.stdout.startswith("trilith ")
    usage = run(program, "--help")
    assert usage.returncode == 0 and "doctor" in usage.stdout


def test_wrong_usage_is_exit_2_and_leaves_stdout_empty(program):
    for arguments in ([], ["no-such-verb"], ["doctor", "--no-such-option"]):
        result = run(program, *arguments)
        assert result.returncode == 2, arguments
        assert result.stdout == "" and result.stderr != ""


def test_doctor_prints_one_json_document(program):
    result = run(program, "doctor", "--json", "-")
    assert result.returncode == 0, result.stderr
    assert isinstance(json.loads(result.stdout), dict)
