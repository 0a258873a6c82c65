// expect-success
static_assert(sizeof(char) == 1, "sizes differ");
