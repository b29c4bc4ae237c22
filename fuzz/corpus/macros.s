// Everything that stands around instructions in hand-written sources.
.set count, 4
stride = count * 2 + (1 << 3)
.macro add_all first, last=\first, rest:vararg
  .if \first < \last
    v_add_u32 v[\first], v[\first], v[\last]
    add_all (\first + 1), \last, \rest
  .else
    s_nop 0
  .endif
.endm
.macro emit name, value:req
\name\()_\@:
  s_mov_b32 s[\value], stride
.endm
kernel:
  s_mov_b32 s0, count ; comment
  s_mov_b64 s[2:3], 0 /* block
     comment */
  .rept 3
  v_mov_b32 v0, 1.5
  .endr
  .irp reg, 1, 2, 3
  v_add_f32 v\reg, -v0, v1
  .endr
  .irpc digit, 012
  s_nop \digit
  .endr
  add_all 1, 3
  emit place, 5
  .ifdef count
  s_add_u32 s0, s0, (count + 1) & 0xff
  .elseif count == 5
  s_nop 1
  .else
  .error "no count"
  .endif
1:
  s_cbranch_scc1 1b
  buffer_load_dword v1, v2, s[4:7], 0 offen offset:4095 sc0 nt
  s_waitcnt vmcnt(0) & lgkmcnt(0)
  s_getreg_b32 s1, hwreg(HW_REG_HW_ID, 0, 32)
  s_sendmsg sendmsg(MSG_INTERRUPT)
  ds_swizzle_b32 v1, v2 offset:swizzle(BITMASK_PERM, "00p11")
  .byte 1, 2, 'a', '\n'
  .asciz "text \x41 \101 !!"
  .p2align 2
  .long kernel - 1b, 0xdeadbeef
  .fill 2, 4, 0x11
  s_endpgm
