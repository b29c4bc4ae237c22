// Prints LLVM's own description of AMDGPU instructions, for tools/isa/descriptors.py.
//
// Reads one encoding a line, as hexadecimal bytes, and writes one line each: the opcode's name, its register operands as
// NAME:r|w|x (read, written, tied), implicit reads, implicit writes, and flags; fields are separated by tabs. "?" for what does
// not decode. Uses public headers of LLVM only.
//
// Build: c++ -std=c++17 llvm_descriptors.cpp $(llvm-config --cxxflags --ldflags --libs) -o llvm_descriptors
// Run:   llvm_descriptors gfx942 < encodings.txt

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCDisassembler/MCDisassembler.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/MCTargetOptions.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;

static std::vector<uint8_t> bytesOf(const std::string &Hex) {
  std::vector<uint8_t> Bytes;
  for (size_t At = 0; At + 1 < Hex.size(); At += 2)
    Bytes.push_back(static_cast<uint8_t>(std::stoul(Hex.substr(At, 2), nullptr, 16)));
  return Bytes;
}

static void printRegisters(ArrayRef<MCPhysReg> Registers, const MCRegisterInfo &Info) {
  bool First = true;
  for (MCPhysReg Register : Registers) {
    std::cout << (First ? "" : " ") << Info.getName(Register);
    First = false;
  }
}

int main(int Count, char **Arguments) {
  if (Count != 2) {
    std::cerr << "usage: llvm_descriptors CPU < encodings\n";
    return 2;
  }
  LLVMInitializeAMDGPUTargetInfo();
  LLVMInitializeAMDGPUTarget();
  LLVMInitializeAMDGPUTargetMC();
  LLVMInitializeAMDGPUDisassembler();
  const Triple Machine("amdgcn--");
  std::string Error;
  const Target *Backend = TargetRegistry::lookupTarget(Machine, Error);
  if (!Backend) {
    std::cerr << Error << "\n";
    return 2;
  }
  const MCTargetOptions Options;
  const std::unique_ptr<MCRegisterInfo> Registers(Backend->createMCRegInfo(Machine));
  const std::unique_ptr<MCAsmInfo> Assembly(Backend->createMCAsmInfo(*Registers, Machine, Options));
  const std::unique_ptr<MCInstrInfo> Instructions(Backend->createMCInstrInfo());
  const std::unique_ptr<MCSubtargetInfo> Chip(Backend->createMCSubtargetInfo(Machine, Arguments[1], ""));
  MCContext Context(Machine, Assembly.get(), Registers.get(), Chip.get());
  const std::unique_ptr<MCDisassembler> Disassembler(Backend->createMCDisassembler(*Chip, Context));

  std::cout << "LLVM " << LLVM_VERSION_STRING << "\n";
  for (std::string Line; std::getline(std::cin, Line);) {
    const std::vector<uint8_t> Bytes = bytesOf(Line);
    MCInst Instruction;
    uint64_t Size = 0;
    if (Disassembler->getInstruction(Instruction, Size, Bytes, 0, nulls()) != MCDisassembler::Success) {
      std::cout << "?\n";
      continue;
    }
    const MCInstrDesc &Description = Instructions->get(Instruction.getOpcode());
    std::cout << Instructions->getName(Instruction.getOpcode()).str() << "\t";
    bool First = true;
    for (unsigned Index = 0; Index < Instruction.getNumOperands(); ++Index) {
      const MCOperand &Operand = Instruction.getOperand(Index);
      if (!Operand.isReg() || !Operand.getReg())
        continue;
      // A read that is tied to a result makes that result read and written: told at the read.
      const bool Tied = Index < Description.getNumOperands() &&
                        Description.getOperandConstraint(Index, MCOI::TIED_TO) != -1;
      const char Role = Index < Description.getNumDefs() ? 'w' : Tied ? 'x' : 'r';
      std::cout << (First ? "" : " ") << Registers->getName(Operand.getReg()) << ":" << Role;
      First = false;
    }
    std::cout << "\t";
    printRegisters(Description.implicit_uses(), *Registers);
    std::cout << "\t";
    printRegisters(Description.implicit_defs(), *Registers);
    std::cout << "\t" << (Description.mayLoad() ? "load " : "") << (Description.mayStore() ? "store " : "")
              << (Description.isBranch() ? "branch " : "") << (Description.isTerminator() ? "terminator" : "") << "\n";
  }
  return 0;
}
