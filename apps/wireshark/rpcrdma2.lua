-- SPDX-License-Identifier: BSD-3-Clause
--
-- RPC-over-RDMA version 2 (draft-cel-nfsv4-rpcrdma-version-two-03) with the extension
-- draft-dnoveck-nfsv4-rpcrdma-rtrext-01 for Wireshark, which knows only version 1. Fields have the
-- names of the drafts.
--
-- This file is a heuristic dissector for the payload of InfiniBand, RoCE and iWARP. The dissector
-- accepts a message if the version is 2 and the body is possible for the procedure. All lengths are
-- checked, and a malformed message is marked where its valid part ends. An RPC message is passed to
-- the dissector of RPC if it is complete, which means that it is in a single transmission and that
-- no item was excised from it.
--
-- A message that is longer than the path's MTU is sent in several packets. InfiniBand's dissector
-- does not reassemble them, so this dissector does. The message is displayed with its last packet.

local p2 = Proto("rpcrdma2", "RPC-over-RDMA version 2")

local PROCS = { [0] = "RDMA2_MSG", [1] = "RDMA2_NOMSG", [4] = "RDMA2_ERROR", [5] = "RDMA2_OPTIONAL",
  [6] = "RDMA2_CONNPROP", [7] = "RDMA2_REQPROP", [8] = "RDMA2_RESPROP", [9] = "RDMA2_UPDPROP" }
local ERRORS = {
  "RDMA2_ERR_VERS", "RDMA2_ERR_BAD_XDR", "RDMA2_ERR_REPLY_RESOURCE", "RDMA2_ERR_INVAL_PROC",
  "RDMA2_ERR_INVAL_OPTION", "RDMA2_ERR_SYSTEM"
}
local DIRECTIONS = { [0] = "CALL", [1] = "REPLY" }
local PROPERTIES = {
  "RDMA2_PROPID_RBSIZ", "RDMA2_PROPID_BRS", "XPROP_RTRSUPP", "XPROP_RBSTRUCT", "XPROP_REQRXLIM",
  "XPROP_RESPSXLIM"
}
local BKREQSUPS = {
  [0] = "RDMA2_BKREQSUP_NONE", [1] = "RDMA2_BKREQSUP_INLINE", [2] = "RDMA2_BKREQSUP_GENL"
}
-- The draft of the extension gives two sets of numbers to the operations. Both are listed.
local OPERATIONS = { "ROPT_XMTREQ", "ROPT_XMTRESP", "ROPT_XMTCONT", "ROPT_REPTERR",
  "ROPT_XMTREQ", "ROPT_XMTRESP", "ROPT_XMTCONT", "ROPT_REPTERR" }
local TYPES = {
  "XMDTYPE_EXRW", "XMDTYPE_TBSN", "XMDTYPE_CHOICE", "XMDTYPE_BYSIZE", "XMDTYPE_TOOSHORT",
  "XMDTYPE_NOITEM"
}
local REPORTS = {
  "OPTRERR_BADHMT", "OPTRERR_BADOMT", "OPTRERR_BADCONT", "OPTRERR_BADSEQ", "OPTRERR_BADXID",
  "OPTRERR_BADOFF", "OPTRERR_BADTBSN", "OPTRERR_BADPL"
}

local f = {}
local function word(name, shown, values)
  f[name] = ProtoField.uint32("rpcrdma2." .. name, name, shown, values)
end
local DEC, HEX = base.DEC, base.HEX
for _, name in ipairs {
  "rdma_vers", "rdma_credit", "rdma_position", "rdma_length", "rdma_vers_low", "rdma_vers_high",
  "rdma_segment_index", "rdma_length_needed", "rdma_optinfo_length", "rdma_data_length", "value",
  "xmrbuf_length", "xmrgrp_count", "xmrseg_length", "xmrseg_align", "xmdmi_disp", "xmdmi_length",
  "xmdl_offset", "xmdl_bsnum", "xmdrsdr_begin", "xmdrsdr_end", "xmdrsdi_minlen", "xmdrsdl_dsdov",
  "optxrq_count", "optxrq_rsbuf", "optxrq_pslen", "optxrs_count", "optxrs_pslen", "optxc_xnum",
  "optxc_pslen", "xmsi_seq", "optri_expect", "optri_current", "optri_value", "optri_min",
  "optri_max", "count"
} do
  word(name, DEC)
end
for _, name in ipairs {
  "rdma_xid", "rdma_inv_handle", "rdma_handle", "rdma_nochg", "rdma_done", "rdma_rejected",
  "xpr_rtrs", "xmrseg_flags", "xmsi_xid"
} do
  word(name, HEX)
end
word("rdma_proc", DEC, PROCS)
word("rdma_err", DEC, ERRORS)
word("rdma_direction", DEC, DIRECTIONS)
word("rdma_optdir", DEC, DIRECTIONS)
word("rdma_opttype", DEC, OPERATIONS)
word("optxc_itype", DEC, OPERATIONS)
word("rdma_which", DEC, PROPERTIES)
word("rpcrdma2_bkreqsup", DEC, BKREQSUPS)
word("xmddp_type", DEC, TYPES)
word("optre_which", DEC, REPORTS)
word("xmsi_dir", DEC, DIRECTIONS)
f.rdma_offset = ProtoField.uint64("rpcrdma2.rdma_offset", "rdma_offset", HEX)
f.data = ProtoField.bytes("rpcrdma2.data", "data")
f.payload = ProtoField.bytes("rpcrdma2.payload", "RPC payload stream")
f.bulk = ProtoField.bytes("rpcrdma2.bulk", "Padding and bulk data")
f.whole_in = ProtoField.framenum("rpcrdma2.whole_in", "The message is shown in")
local fields = {}
for _, field in pairs(f) do
  fields[#fields + 1] = field
end
p2.fields = fields

local malformed = ProtoExpert.new("rpcrdma2.malformed", "Malformed", expert.group.MALFORMED,
  expert.severity.ERROR)
p2.experts = { malformed }

-- A cursor over the bytes of a message from offset 'at' up to, but not including, offset 'last'. A
-- read beyond the end throws SHORT, which dissect() catches.
local SHORT = {}
local Cursor = {}
Cursor.__index = Cursor

local function cursor(tvb, at, last)
  return setmetatable({ tvb = tvb, at = at, last = last }, Cursor)
end

function Cursor:need(bytes)
  if bytes > self.last - self.at then
    error(SHORT)
  end
end

function Cursor:u32(tree, name)
  self:need(4)
  local range = self.tvb(self.at, 4)
  self.at = self.at + 4
  if name then
    tree:add(f[name], range)
  end
  return range:uint()
end

function Cursor:bytes(tree, name, length)
  self:need(length)
  if length > 0 then
    tree:add(f[name], self.tvb(self.at, length))
  end
  self.at = self.at + length
end

function Cursor:skip_pad(length)
  local pad = (-length) % 4
  self:need(pad)
  self.at = self.at + pad
end

-- Reads an array that begins with the number of its elements, and calls 'element' for each. An
-- element has at least 'least' bytes. The number is first checked against the length of the
-- message.
function Cursor:array(tree, name, least, element)
  local n = self:u32(tree)
  self:need(n * least)
  local start = self.at
  local branch = tree:add(p2, self.tvb(start - 4, 4), string.format("%s: %u", name, n))
  for i = 0, n - 1 do
    element(branch, i)
  end
  branch:set_len(self.at - start + 4)
end

local function segment(c, tree)
  c:need(16)
  local branch = tree:add(p2, c.tvb(c.at, 16), "segment")
  c:u32(branch, "rdma_handle")
  c:u32(branch, "rdma_length")
  branch:add(f.rdma_offset, c.tvb(c.at, 8))
  c.at = c.at + 8
end

local function segments(c, tree, name)
  c:array(tree, name, 16, function(branch)
    segment(c, branch)
  end)
end

-- Reads an XDR list, and calls 'entry' for each entry. The word 1 precedes each entry, and the word
-- 0 follows the last one.
local function list(c, tree, name, entry)
  local branch = tree:add(p2, c.tvb(c.at, 0), name)
  local start = c.at
  while c:u32(branch) ~= 0 do
    entry(branch)
  end
  branch:set_len(c.at - start)
end

local function chunk_lists(c, tree)
  local direction = c:u32(tree, "rdma_direction")
  c:u32(tree, "rdma_inv_handle")
  list(c, tree, "rdma_reads", function(branch)
    c:u32(branch, "rdma_position")
    segment(c, branch)
  end)
  list(c, tree, "rdma_writes", function(branch)
    segments(c, branch, "rdma_target")
  end)
  if c:u32(tree) ~= 0 then
    segments(c, tree, "rdma_reply")
  end
  return direction
end

local function error_body(c, tree)
  local err = c:u32(tree, "rdma_err")
  if err == 1 then
    c:u32(tree, "rdma_vers_low")
    c:u32(tree, "rdma_vers_high")
  elseif err == 3 then
    c:u32(tree, "rdma_segment_index")
    c:u32(tree, "rdma_length_needed")
  end
  return ERRORS[err]
end

-- Properties --------------------------------------------------------------------------------------

local function structure(c, tree)
  c:u32(tree, "xmrbuf_length")
  c:array(tree, "xmrbuf_groups", 16, function(branch)
    c:u32(branch, "xmrgrp_count")
    c:u32(branch, "xmrseg_length")
    c:u32(branch, "xmrseg_align")
    c:u32(branch, "xmrseg_flags")
  end)
end

local function property(c, tree)
  local branch = tree:add(p2, c.tvb(c.at, 0), "rpcrdma2_propval")
  local start = c.at
  local which = c:u32(branch, "rdma_which")
  local length = c:u32(branch, "rdma_data_length")
  c:need(length)
  local inner = cursor(c.tvb, c.at, c.at + length)
  if length == 0 then
    branch:append_text(" (default)")
  elseif which == 4 then
    structure(inner, branch)
  elseif which == 2 then
    inner:u32(branch, "rpcrdma2_bkreqsup")
  elseif which == 3 then
    inner:u32(branch, "xpr_rtrs")
  elseif PROPERTIES[which] then
    inner:u32(branch, "value")
  else
    inner:bytes(branch, "data", length)
  end
  c.at = c.at + length
  c:skip_pad(length)
  branch:set_len(c.at - start)
end

local function propset(c, tree, name)
  c:array(tree, name, 8, function(branch)
    property(c, branch)
  end)
end

local function subset(c, tree, name)
  c:array(tree, name, 4, function(branch)
    c:u32(branch, name)
  end)
end

-- The extension -----------------------------------------------------------------------------------

-- Reads the items of an operation. Returns true if the data of an item were excised from the
-- payload.
local function items(c, tree, name)
  local excised = false
  c:array(tree, name, 12, function(branch)
    local item = branch:add(p2, c.tvb(c.at, 0), "xmddp_mitem")
    local start = c.at
    c:u32(item, "xmdmi_disp")
    c:u32(item, "xmdmi_length")
    local kind = c:u32(item, "xmddp_type")
    if kind == 1 then
      segments(c, item, "xmdl_ex")
      excised = true
    elseif kind == 2 then
      c:u32(item, "xmdl_offset")
      c:array(item, "xmdl_bsnum", 4, function(numbers)
        c:u32(numbers, "xmdl_bsnum")
      end)
      excised = true
    elseif kind ~= 5 and kind ~= 6 then
      error(SHORT)
    end
    item:set_len(c.at - start)
  end)
  return excised
end

local function direction_item(c, tree)
  local item = tree:add(p2, c.tvb(c.at, 0), "xmddp_rsditem")
  local start = c.at
  c:u32(item, "xmdrsdi_minlen")
  local kind = c:u32(item, "xmddp_type")
  if kind == 4 then
    c:u32(item, "xmdrsdl_dsdov")
    segments(c, item, "xmdrsdl_bsex")
  elseif kind == 1 or kind == 3 then
    segments(c, item, "xmdrsdl_ex")
  elseif kind ~= 2 then
    error(SHORT)
  end
  item:set_len(c.at - start)
end

local function sets(c, tree)
  c:array(tree, "optxrq_rsd", 12, function(branch)
    local set = branch:add(p2, c.tvb(c.at, 0), "xmddp_rsdset")
    local start = c.at
    c:u32(set, "xmdrsdr_begin")
    c:u32(set, "xmdrsdr_end")
    c:array(set, "xmdrsds_items", 8, function(inner)
      direction_item(c, inner)
    end)
    set:set_len(c.at - start)
  end)
end

local function identity(c, tree, name)
  c:need(12)
  local branch = tree:add(p2, c.tvb(c.at, 12), name)
  c:u32(branch, "xmsi_xid")
  c:u32(branch, "xmsi_dir")
  c:u32(branch, "xmsi_seq")
end

local function report(c, tree)
  identity(c, tree, "optre_bad")
  if c:u32(tree) ~= 0 then
    identity(c, tree, "optre_lead")
  end
  local err = c:u32(tree, "optre_which")
  if err == 1 or err == 2 or err == 4 or err == 5 then
    c:u32(tree, "optri_expect")
    c:u32(tree, "optri_current")
  elseif err >= 6 and err <= 8 then
    c:u32(tree, "optri_value")
    c:u32(tree, "optri_min")
    c:u32(tree, "optri_max")
  end
  return REPORTS[err]
end

-- Reads the header of an operation. Returns the length of the payload, and true if the payload is a
-- complete RPC message.
local function operation(c, tree, opttype)
  local kind = (opttype - 1) % 4
  if kind == 0 or kind == 1 then
    local excised = items(c, tree, kind == 0 and "optxrq_ddp" or "optxrs_ddp")
    local count
    if kind == 0 then
      sets(c, tree)
      count = c:u32(tree, "optxrq_count")
      c:u32(tree, "optxrq_rsbuf")
    else
      count = c:u32(tree, "optxrs_count")
    end
    local length = c:u32(tree, kind == 0 and "optxrq_pslen" or "optxrs_pslen")
    return length, count == 1 and not excised, string.format("transmission 1 of %u", count)
  elseif kind == 2 then
    local number = c:u32(tree, "optxc_xnum")
    c:u32(tree, "optxc_itype")
    return c:u32(tree, "optxc_pslen"), false, string.format("transmission %u", number + 1)
  end
  return 0, false, report(c, tree)
end

local rpc = Dissector.get("rpc")

local function optional(c, tree, pinfo)
  local direction = c:u32(tree, "rdma_optdir")
  local opttype = c:u32(tree, "rdma_opttype")
  local length = c:u32(tree, "rdma_optinfo_length")
  c:need(length)
  local name = OPERATIONS[opttype] or string.format("opttype %u", opttype)
  pinfo.cols.info:append(string.format(" %s %s", name, DIRECTIONS[direction] or ""))
  local branch = tree:add(p2, c.tvb(c.at, length), "rdma_optinfo: " .. name)
  local inner = cursor(c.tvb, c.at, c.at + length)
  c.at = c.at + length
  c:skip_pad(length)
  if not OPERATIONS[opttype] then
    inner:bytes(branch, "data", length)
    return
  end
  local payload, is_whole, text = operation(inner, branch, opttype)
  if text then
    pinfo.cols.info:append(", " .. text)
  end
  c:need(payload)
  if payload > 0 then
    tree:add(f.payload, c.tvb(c.at, payload))
    c.payload = is_whole and c.tvb(c.at, payload) or nil
    c.at = c.at + payload
  end
  if c.at < c.last then
    c:bytes(tree, "bulk", c.last - c.at)
  end
end

-- Messages ----------------------------------------------------------------------------------------

local bodies = {
  [0] = function(c, tree)
    chunk_lists(c, tree)
    if c.at < c.last then
      c.payload = c.tvb(c.at, c.last - c.at)
      tree:add(f.payload, c.payload)
    end
  end,
  [1] = function(c, tree)
    chunk_lists(c, tree)
  end,
  [4] = function(c, tree, pinfo)
    local name = error_body(c, tree)
    pinfo.cols.info:append(" " .. (name or "unknown"))
  end,
  [5] = optional,
  [6] = function(c, tree)
    propset(c, tree, "rdma_start")
    subset(c, tree, "rdma_nochg")
  end,
  [7] = function(c, tree)
    propset(c, tree, "rdma_want")
  end,
  [8] = function(c, tree)
    subset(c, tree, "rdma_done")
    subset(c, tree, "rdma_rejected")
    propset(c, tree, "rdma_other")
  end,
  [9] = function(c, tree)
    propset(c, tree, "rdma_now")
  end,
}

function p2.dissector(tvb, pinfo, root)
  local tree = root:add(p2, tvb())
  local c = cursor(tvb, 0, tvb:len())
  c:u32(tree, "rdma_xid")
  c:u32(tree, "rdma_vers")
  c:u32(tree, "rdma_credit")
  local proc = c:u32(tree, "rdma_proc")
  pinfo.cols.protocol = "RPCoRDMA2"
  pinfo.cols.info = PROCS[proc]
  local ok, what = pcall(bodies[proc], c, tree, pinfo)
  if not ok then
    if what ~= SHORT then
      error(what, 0)
    end
    tree:add_proto_expert_info(malformed, string.format("Malformed at byte %u", c.at))
    pinfo.cols.info:append(" [malformed]")
  elseif c.payload and rpc and not pcall(rpc.call, rpc, c.payload:tvb(), pinfo, root) then
    tree:add_proto_expert_info(malformed, "The RPC message is malformed")
  end
  return tvb:len()
end

-- Returns true if the version and the words after the procedure are possible for a message of
-- version 2. Version 1 has its own dissector. 'goes_on' is true if the bytes are the first of
-- several packets of the message.
local function is_ours(tvb, goes_on)
  local length = goes_on and math.huge or tvb:len()
  if tvb:len() < 20 or tvb(4, 4):uint() ~= 2 then
    return false
  end
  local proc = tvb(12, 4):uint()
  local first = tvb(16, 4):uint()
  if not bodies[proc] then
    return false
  elseif proc == 0 or proc == 1 then
    return length >= 36 and first <= 1
  elseif proc == 4 then
    return first >= 1 and first <= 6
  elseif proc == 5 then
    return length >= 28 and first <= 1 and (goes_on or tvb(24, 4):uint() <= length - 28)
  end
  return first <= length / 4 -- the word is a number of properties or of words
end

-- Messages in several packets ---------------------------------------------------------------------

-- The code below is for InfiniBand and RoCE. iWARP's dissector reassembles messages itself.
local bth_opcode = Field.new("infiniband.bth.opcode")
local bth_qp, bth_psn = Field.new("infiniband.bth.destqp"), Field.new("infiniband.bth.psn")

-- Opcodes of Sends, by the position of the packet in its message.
local FIRST, MIDDLE, LAST = 0, 1, { [2] = true, [3] = true, [22] = true }

-- Returns the place of a packet in its message, or nil if the message has one packet. The place has
-- these members: 'key' is the flow of the message. 'at' is the packet's PSN. 'next' is the PSN of
-- the next packet. 'is_first' and 'is_last' are true for the first and the last packet of a
-- message.
local function place_of(pinfo)
  local opcode, psn, qp = bth_opcode(), bth_psn(), bth_qp()
  if not opcode or not psn or not qp then
    return nil
  end
  opcode, psn = opcode.value, psn.value
  if opcode ~= FIRST and opcode ~= MIDDLE and not LAST[opcode] then
    return nil
  end
  return { key = string.format("%s>%s %u", pinfo.src, pinfo.dst, qp.value), at = psn,
    next = (psn + 1) % 2 ^ 24, is_first = opcode == FIRST, is_last = LAST[opcode] or false }
end

-- 'open' is a table of the incomplete message of each flow. 'taken' is a table of the message to
-- which each packet belongs, or false.
local open, taken = {}, {}

function p2.init()
  open, taken = {}, {}
end

-- Adds a packet to its message. Returns the message, or nil if the packet is ignored. A packet that
-- is a duplicate, or that follows a missing one, is ignored, because the sender retransmits from
-- the first missing packet on.
local function take(place, tvb, number)
  local message = open[place.key]
  if place.is_first then
    message = is_ours(tvb, true) and { data = ByteArray.new(), next = place.at } or nil
    open[place.key] = message
  end
  if not message or message.next ~= place.at then
    return nil
  end
  message.data:append(tvb():bytes())
  message.next = place.next
  if place.is_last then
    message.last = number
    open[place.key] = nil
  end
  return message
end

local function show_part(tvb, pinfo, root, message)
  local tree = root:add(p2, tvb(), "RPC-over-RDMA version 2, part of a message")
  pinfo.cols.protocol = "RPCoRDMA2"
  pinfo.cols.info = "part of a message"
  if message.last then -- the last packet is known in the second pass over the capture
    tree:add(f.whole_in, message.last):set_generated()
    pinfo.cols.info:append(string.format(" [frame %u]", message.last))
  end
end

local function heuristic(tvb, pinfo, root)
  if not is_ours(tvb, false) then
    return false
  end
  p2.dissector(tvb, pinfo, root)
  return true
end

local function heuristic_of_packets(tvb, pinfo, root)
  local place = place_of(pinfo)
  if not place then
    return heuristic(tvb, pinfo, root)
  end
  local id = string.format("%u %s %u", pinfo.number, place.key, place.at)
  if taken[id] == nil then -- also occurs after the first pass, which can run without fields
    taken[id] = take(place, tvb, pinfo.number) or false
  end
  local message = taken[id]
  if not message then
    return false
  elseif place.is_last then
    p2.dissector(message.data:tvb("RPC-over-RDMA message"), pinfo, root)
  else
    show_part(tvb, pinfo, root, message)
  end
  return true
end

p2:register_heuristic("infiniband.payload", heuristic_of_packets)
p2:register_heuristic("iwarp_ddp_rdmap", heuristic)
