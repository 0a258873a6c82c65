// expect: names differ
static_assert(sizeof(char) == 2, "sizes differ");
