// Starts `rrc lsp` and shows the pages of findings. Everything else is the server's.
"use strict";

const vscode = require("vscode");
const { LanguageClient, TransportKind } = require("vscode-languageclient/node");

/** The scheme of the pages that `rrc explain` prints. */
const PAGE = "rrc-explain";

let client;

function start() {
  const settings = vscode.workspace.getConfiguration("rrc");
  const server = {
    command: settings.get("path", "rrc"),
    args: ["lsp", ...settings.get("arguments", [])],
    transport: TransportKind.stdio,
  };
  client = new LanguageClient("rrc", "rrc", server, {
    documentSelector: [{ language: "yaml" }, { language: "json" }],
    initializationOptions: { explain: true },
  });
  return client.start();
}

async function explain(code) {
  const wanted = code || (await vscode.window.showInputBox({ prompt: "A code or a name, such as RRC0201" }));
  if (wanted) {
    const page = vscode.Uri.parse(`${PAGE}:${wanted}.md`);
    await vscode.commands.executeCommand("markdown.showPreview", page);
  }
}

async function restart() {
  await client?.stop();
  await start();
}

exports.activate = async function (context) {
  const pages = {
    async provideTextDocumentContent(uri) {
      const code = uri.path.replace(/\.md$/, "");
      try {
        return (await client.sendRequest("rrc/explain", { code })).text;
      } catch (error) {
        return String(error.message || error);
      }
    },
  };
  context.subscriptions.push(
    vscode.workspace.registerTextDocumentContentProvider(PAGE, pages),
    vscode.commands.registerCommand("rrc.explain", explain),
    vscode.commands.registerCommand("rrc.restart", restart),
  );
  await start();
};

exports.deactivate = () => client?.stop();
