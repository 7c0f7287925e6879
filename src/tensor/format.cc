#include "tensor/format.h"

namespace belay::tensor {

const char* NameOf(Format format) {
  switch (format) {
    case Format::kUndefined:
      return "ACL_FORMAT_UNDEFINED";
    case Format::kNCHW:
      return "ACL_FORMAT_NCHW";
    case Format::kNHWC:
      return "ACL_FORMAT_NHWC";
    case Format::kND:
      return "ACL_FORMAT_ND";
    case Format::kNC1HWC0:
      return "ACL_FORMAT_NC1HWC0";
    case Format::kFractalZ:
      return "ACL_FORMAT_FRACTAL_Z";
    case Format::kNC1HWC0C04:
      return "ACL_FORMAT_NC1HWC0_C04";
    case Format::kHWCN:
      return "ACL_FORMAT_HWCN";
    case Format::kNDHWC:
      return "ACL_FORMAT_NDHWC";
    case Format::kFractalNZ:
      return "ACL_FORMAT_FRACTAL_NZ";
    case Format::kNCDHW:
      return "ACL_FORMAT_NCDHW";
    case Format::kNDC1HWC0:
      return "ACL_FORMAT_NDC1HWC0";
    case Format::kFractalZ3D:
      return "ACL_FRACTAL_Z_3D";
    case Format::kNC:
      return "ACL_FORMAT_NC";
    case Format::kNCL:
      return "ACL_FORMAT_NCL";
  }
  return nullptr;
}

bool IsPlain(Format format) {
  switch (format) {
    case Format::kNCHW:
    case Format::kNHWC:
    case Format::kND:
    case Format::kHWCN:
    case Format::kNDHWC:
    case Format::kNCDHW:
    case Format::kNC:
    case Format::kNCL:
      return true;
    default:
      return false;
  }
}

}  // namespace belay::tensor
