// sharpmax: the command line as a program.
#include "cli/program.h"

int main(int argc, char** argv) { return sharpmax::cli::program_main(argc, argv); }
