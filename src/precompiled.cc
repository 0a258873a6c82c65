// No code: the target of the precompiled headers has to have a file (CMakeLists.txt).
