// The protocol of contenders of a benchmark: one line per request, one line per answer, `error MESSAGE` where
// there is none.
#pragma once

#include <exception>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace sharpmax::bench {

using Words = std::vector<std::string>;

// Answers lines until there are no more. answer(words) gives the line, and may throw.
template <class Answer>
void answer_lines(const Answer& answer) {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream stream(line);
    const Words words{std::istream_iterator<std::string>(stream), {}};
    if (words.empty()) continue;
    try {
      std::cout << answer(words) << std::endl;
    } catch (const std::exception& error) {
      std::cout << "error " << error.what() << std::endl;
    }
  }
}

// main() of a contender: what serve() throws is a sentence and exit code 2.
template <class Serve>
int run_contender(int count, char** words, const Serve& serve) {
  try {
    serve(Words(words + 1, words + count));
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
}

}  // namespace sharpmax::bench
