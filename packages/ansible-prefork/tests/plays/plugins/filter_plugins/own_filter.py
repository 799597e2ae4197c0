class FilterModule:
    def filters(self):
        return {"own_filter": lambda value: value + " filter version 1"}
