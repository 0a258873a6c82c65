# Writes the C++ blocks of a Markdown file as sources into the folder `out`. By the info string of a block:
#   cpp            compiled. With `int main` it is a file of its own; else its #include lines, and what it has up to its last
#                  QUERY_RECORD, go to namespace scope, and the rest into a function of its own, behind prelude.hpp.
#   cpp file       a file of its own (without main)
#   cpp continued  goes on in the function of the block before
#   cpp fragment   not compiled; any other language neither
# #line makes the compiler speak of the Markdown file.
function close_function() {
  if (open) print "}\n}" > wrapped
  open = 0
}

function emit_alone(   file, i) {
  file = out "/file_" count ".cpp"
  printf "#line %d \"%s\"\n", first, FILENAME > file
  for (i = 1; i <= n; ++i) print body[i] > file
  close(file)
}

function emit_wrapped(   i, scope_end, in_record) {
  if (!started++) print "#include \"prelude.hpp\"" > wrapped
  for (i = 1; i <= n; ++i) {
    if (body[i] ~ /^QUERY_RECORD\(/) in_record = 1
    if (in_record && body[i] ~ /;/) { scope_end = i; in_record = 0 }
  }
  if (mode == "continued" && open) {
    scope_end = 0
  } else {
    close_function()
    for (i = 1; i <= n; ++i)
      if (body[i] ~ /^#include/) { print body[i] > wrapped; body[i] = "" }
    print "namespace snippet_" count " {" > wrapped
    printf "#line %d \"%s\"\n", first, FILENAME > wrapped
    for (i = 1; i <= scope_end; ++i) print body[i] > wrapped
    print "[[maybe_unused]] static void snippet() {" > wrapped
    open = 1
  }
  printf "#line %d \"%s\"\n", first + scope_end, FILENAME > wrapped
  for (i = scope_end + 1; i <= n; ++i) print body[i] > wrapped
}

BEGIN { wrapped = out "/wrapped.cpp" }

/^ *```/ && inside {
  inside = 0
  if (mode == "skip") next
  ++count
  if (mode == "file" || has_main) emit_alone()
  else emit_wrapped()
  next
}
/^ *```/ {
  inside = 1; n = 0; has_main = 0; first = NR + 1
  info = $0
  sub(/^ *```/, "", info)
  split(info, word, " ")
  mode = word[1] != "cpp" || word[2] == "fragment" ? "skip" : word[2]
  next
}
inside { body[++n] = $0; if ($0 ~ /int main\(/) has_main = 1 }
END { close_function() }
