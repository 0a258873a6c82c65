// The prelude of the sample pages: nothing.
#pragma once
