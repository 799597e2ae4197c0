class TestModule:
    def tests(self):
        return {"own_test": lambda value: value == "version 1"}
