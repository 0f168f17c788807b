// Numbers in sentences.
#pragma once

#include <string>

namespace sharpmax {

std::string grouped(long long n);       // 1,048,576
std::string one_decimal(double value);   // 5.7; from 100 on whole: 1,234
std::string duration(double seconds);   // 5 s, 3 min 07 s, 2 h 05 min; ? for not-a-number

// "42 %, 3 s left": of work of which `done` of `whole` took so many seconds.
std::string share_left(double done, double whole, double seconds);

}  // namespace sharpmax
