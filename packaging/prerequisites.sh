#!/bin/sh
# Checks what `make setup` needs, before anything is made or downloaded: prerequisites.sh PYTHON
# What is missing is named with its package. This is a shell script because the Python may be missing, or too old.
python=$1

refuse() {
    printf 'biasgrid: %s\n' "$@" >&2
    exit 1
}

command -v "$python" > /dev/null || refuse \
    "$python is not installed. Python 3.11 or newer is needed." \
    "On Debian or Ubuntu: apt install python3 python3-venv. On Fedora: dnf install python3." \
    "If it has another name: make setup PYTHON=python3.12"
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])') || refuse "$python does not start."
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || refuse \
    "$python is Python $version. Python 3.11 or newer is needed." \
    "On Debian or Ubuntu: apt install python3.12 python3.12-venv, or the version that your release has." \
    "Then name it: make setup PYTHON=python3.12"
# Debian has the module venv in its Python, and what the module needs in another package.
"$python" -c 'import ensurepip, venv' 2> /dev/null || refuse \
    "$python (Python $version) cannot make virtual environments: its module ensurepip is missing." \
    "On Debian or Ubuntu: apt install python$version-venv"
