import os


def read_file(number):
    try:
        return os.read(number, 100).decode()
    except OSError:
        return "not given"


class FilterModule:
    def filters(self):
        return {"read_file": read_file}
