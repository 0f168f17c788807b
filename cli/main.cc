// sharpmax: the command line as a program.
#include "cli/console.h"

int main(int argc, char** argv) { return sharpmax::cli::program_main(argc, argv); }
