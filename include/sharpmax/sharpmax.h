// Everything: attention that stays sharp at any size.
#pragma once

#include "sharpmax/attention.h"
#include "sharpmax/error.h"
#include "sharpmax/fold.h"
#include "sharpmax/machine.h"
#include "sharpmax/normalizer.h"
#include "sharpmax/statistics.h"
#include "sharpmax/survey.h"
#include "sharpmax/tensor.h"
