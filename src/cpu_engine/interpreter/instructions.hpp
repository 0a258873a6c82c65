// What instructions do: one function each. The fields that each reads are named in its comment.
#pragma once

#include <cpu_engine/interpreter/code.hpp>

namespace query::interpreter::instructions {

void plain(frame&, const instruction&);    // to <- with.plain(a, b)
void three(frame&, const instruction&);    // to <- with.three(a, b, c)
void checked(frame&, const instruction&);  // to <- with.checked(a, b), live lanes only
void narrow(frame&, const instruction&);   // to <- with.checked(a), live lanes only; index: the narrowing
void text(frame&, const instruction&);     // to, index (of an optional: has it a value?) <- with.text(a, b, c), live lanes only
void array(frame&, const instruction&);    // to <- with.array(values[index], values[extra]); type: the array's
void copy(frame&, const instruction&);     // to <- a
void broadcast(frame&, const instruction&);  // to <- the constant a in every lane

// Memory. Null pointers load zeros.
void load_row(frame&, const instruction&);          // to <- row slot index, at offset
void load_text_row(frame&, const instruction&);
void address_row(frame&, const instruction&);       // type: what must lie there in one piece
void load_pointer(frame&, const instruction&);      // to <- *(a + offset)
void load_text_pointer(frame&, const instruction&);
void address_pointer(frame&, const instruction&);   // to <- a + offset
void spill(frame&, const instruction&);             // to <- addresses of copies of values[index], kept in register b; type
void optional_value(frame&, const instruction&);    // to <- address of the value of the optional at a; type
void optional_row(frame&, const instruction&);      // to <- address of the value of the optional in row slot index, at offset; type
void is_set(frame&, const instruction&);            // to <- a is not null
void list_size(frame&, const instruction&);         // to <- elements of the list at a; type
void element_at(frame&, const instruction&);        // to <- address of element b of the list or array at a; type
void collection_at(frame&, const instruction&);     // to <- address of element b of collection `index`; type: the element's
void collection_size(frame&, const instruction&);   // to <- elements of collection `index`

// Control.
void choose(frame&, const instruction&);   // where c: region index, under mask a; else: region extra, under mask b
void require_value(frame&, const instruction&);     // throws user_error unless a holds in every live lane
void require_elements(frame&, const instruction&);  // throws user_error unless a > 0; index: the nest
void iterate(frame&, const instruction&);  // nests[index]

}  // namespace query::interpreter::instructions
