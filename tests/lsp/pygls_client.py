"""A session with `rrc lsp`, driven by pygls, a client that nobody here wrote."""

import asyncio
import pathlib
import sys
import tempfile

from lsprotocol import types as lsp

try:
    from pygls.lsp.client import LanguageClient as Client
except ImportError:
    from pygls.lsp.client import BaseLanguageClient as Client

TEXT = """\
# \U0001f600
name: x
context:
  user: ada
steps:
  - id: a
    type: bsh
  - id: b
    type: bash
    command: echo \U0001f600 {{usre}}
"""


async def wait(published, condition):
    for _ in range(600):
        if published and condition(published[-1]):
            return published[-1]
        await asyncio.sleep(0.05)
    raise AssertionError(f"nothing fits: {published}")


async def session(rrc):
    kept = tempfile.TemporaryDirectory(prefix="rrc-pygls-")
    folder = pathlib.Path(kept.name)
    path = folder / "a.yaml"
    uri = path.as_uri()
    client = Client("test", "1")
    published = []

    @client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def _(params: lsp.PublishDiagnosticsParams):
        published.append(params)

    await client.start_io(rrc, "lsp")
    literals = lsp.ClientCodeActionLiteralOptions(
        code_action_kind=lsp.ClientCodeActionKindOptions(value_set=[lsp.CodeActionKind.QuickFix])
    )
    capabilities = lsp.ClientCapabilities(
        text_document=lsp.TextDocumentClientCapabilities(
            code_action=lsp.CodeActionClientCapabilities(code_action_literal_support=literals),
            document_symbol=lsp.DocumentSymbolClientCapabilities(
                hierarchical_document_symbol_support=True
            ),
        )
    )
    hello = await client.initialize_async(lsp.InitializeParams(capabilities=capabilities))
    assert hello.capabilities.hover_provider and hello.server_info.name == "rrc"
    client.initialized(lsp.InitializedParams())
    item = lsp.TextDocumentItem(uri=uri, language_id="yaml", version=1, text=TEXT)
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(text_document=item))
    first = await wait(published, lambda said: said.version == 1)
    wrong, finding = first.diagnostics
    assert (wrong.code, finding.code) == ("RRC0106", "RRC0201"), first
    start, end = finding.range.start, finding.range.end
    assert (start.line, start.character, end.character) == (9, 23, 27), finding.range

    document = lsp.TextDocumentIdentifier(uri=uri)
    actions = await client.text_document_code_action_async(
        lsp.CodeActionParams(
            text_document=document,
            range=finding.range,
            context=lsp.CodeActionContext(diagnostics=[finding]),
        )
    )
    quick = [one for one in actions if one.kind == lsp.CodeActionKind.QuickFix]
    assert quick[0].edit.changes[uri][0].new_text == "user", actions
    assert any(one.kind == "source.fixAll.rrc" for one in actions), actions

    here = lsp.Position(line=9, character=6)
    hover = await client.text_document_hover_async(
        lsp.HoverParams(text_document=document, position=here)
    )
    assert "shell text to run" in hover.contents.value, hover
    symbols = await client.text_document_document_symbol_async(
        lsp.DocumentSymbolParams(text_document=document)
    )
    assert [one.name for one in symbols] == ["a", "b"], symbols
    offered = await client.text_document_completion_async(
        lsp.CompletionParams(
            text_document=document, position=lsp.Position(line=9, character=25)
        )
    )
    assert "user" in [one.label for one in offered], offered

    change = lsp.TextDocumentContentChangePartial(range=finding.range, text="user")
    client.text_document_did_change(
        lsp.DidChangeTextDocumentParams(
            text_document=lsp.VersionedTextDocumentIdentifier(uri=uri, version=2),
            content_changes=[change],
        )
    )
    second = await wait(published, lambda said: said.version == 2)
    assert [one.code for one in second.diagnostics] == ["RRC0106"], second
    where = await client.text_document_definition_async(
        lsp.DefinitionParams(
            text_document=document, position=lsp.Position(line=9, character=24)
        )
    )
    assert where[0].range.start == lsp.Position(line=3, character=2), where
    await client.shutdown_async(None)
    client.exit(None)
    code = await asyncio.wait_for(client._server.wait(), 10)
    assert code == 0, code
    print("pygls: a whole session, as expected")


if __name__ == "__main__":
    asyncio.run(session(sys.argv[1]))
