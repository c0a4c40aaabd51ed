#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""json_schema.py <schema> <verb> <file>…: each file is what the definition of the verb describes, and no more; names of
members are of one style."""

import json
import pathlib
import re
import sys

import jsonschema


def close(schema):
    """The published schema allows members of later versions; a test does not."""
    if isinstance(schema, dict):
        if schema.get("properties"):
            schema.setdefault("additionalProperties", False)
            names = [name for name in schema["properties"] if not re.fullmatch("[a-z][a-z0-9]*(_[a-z0-9]+)*", name)]
            if names:
                sys.exit(f"not in the style of the others: {names}")
        for value in schema.values():
            close(value)
    if isinstance(schema, list):
        for value in schema:
            close(value)


def main():
    schema = json.loads(pathlib.Path(sys.argv[1]).read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    schema["$ref"] = f"#/$defs/{sys.argv[2]}"
    del schema["anyOf"]
    close(schema["$defs"])
    validator = jsonschema.Draft202012Validator(schema)
    faults = 0
    for file in sys.argv[3:]:
        for error in validator.iter_errors(json.loads(pathlib.Path(file).read_text())):
            error = jsonschema.exceptions.best_match([error])
            print(f"{file}: {error.json_path}: {error.message[:300]}")
            faults += 1
    sys.exit(faults != 0)


main()
