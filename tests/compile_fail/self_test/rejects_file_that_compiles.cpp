// expect: sizes differ
static_assert(sizeof(char) == 1, "sizes differ");
