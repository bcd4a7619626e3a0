-- A session with `rrc lsp` in a headless Neovim; the binary is in $RRC, the recipe is the argument.
local function fail(words)
  io.stderr:write("nvim: " .. words .. "\n")
  vim.cmd("cquit 1")
end

local path = vim.fn.argv(0)
vim.cmd("edit " .. vim.fn.fnameescape(path))
local id = vim.lsp.start_client({ name = "rrc", cmd = { vim.env.RRC, "lsp" } })
vim.lsp.buf_attach_client(0, id)

local function findings()
  return vim.diagnostic.get(0)
end

if not vim.wait(30000, function() return #findings() == 1 end, 20) then
  fail("no finding: " .. vim.inspect(findings()))
end
local found = findings()[1]
local line = vim.api.nvim_buf_get_lines(0, found.lnum, found.lnum + 1, false)[1]
if line:sub(found.col + 1, found.end_col) ~= "comand" then
  fail("wrong place: " .. vim.inspect(found))
end

local answers = vim.lsp.buf_request_sync(0, "textDocument/codeAction", {
  textDocument = vim.lsp.util.make_text_document_params(),
  range = { start = { line = 0, character = 0 }, ["end"] = { line = 99, character = 0 } },
  context = { diagnostics = {}, only = { "source.fixAll" } },
}, 10000)
local action = answers[id].result[1]
vim.lsp.util.apply_workspace_edit(action.edit, "utf-16")
if not vim.wait(30000, function() return #findings() == 0 end, 20) then
  fail("not fixed: " .. vim.inspect(findings()))
end
if not table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n"):find("command:", 1, true) then
  fail("wrong text")
end
print("nvim: found, fixed, gone\n")
vim.cmd("qall!")
