// expect: sizes differ
// expect-at-most: 1
static_assert(sizeof(char) == 2, "sizes differ");
static_assert(sizeof(char) == 3, "sizes differ");
