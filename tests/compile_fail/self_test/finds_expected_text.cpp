// expect: sizes differ
static_assert(sizeof(char) == 2, "sizes differ");
