/** A thin client of `rxe lsp`: it starts the server, opens terminals, and shows stages beside each other. */

import * as vscode from "vscode";
import { LanguageClient, LanguageClientOptions, ServerOptions } from "vscode-languageclient/node";
import { showPage } from "./page";
import { SCHEME, StageTexts, Stages } from "./stages";

const SETTINGS = "relaxExplorer";
let client: LanguageClient | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const texts = new StageTexts();
  const register = (name: string, run: (...words: unknown[]) => Promise<void>) =>
    context.subscriptions.push(vscode.commands.registerCommand(`${SETTINGS}.${name}`, run));
  context.subscriptions.push(vscode.workspace.registerTextDocumentContentProvider(SCHEME, texts));
  context.subscriptions.push(vscode.workspace.onDidCloseTextDocument((document) => texts.forget(document.uri)));
  register("run", async () => void (await ask("rxe.run", ...(await place()))));
  for (const command of ["debug", "graph", "explore"]) {
    register(command, async () => openTerminal(await ask("rxe.command", ...(await place()), command)));
  }
  register("applyPass", async () => applyPass(texts));
  register("page", page);
  register("restart", restart);
  context.subscriptions.push(
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration(SETTINGS)) {
        void restart();
      }
    }),
  );
  await start();
}

export async function deactivate(): Promise<void> {
  await client?.stop();
}

async function start(): Promise<void> {
  const settings = vscode.workspace.getConfiguration(SETTINGS);
  const command = settings.get<string>("command", "rxe");
  const args = ["lsp", "--profile", settings.get<string>("profile", "spec")];
  if (settings.get<boolean>("allowUnknownOperators", false)) {
    args.push("--allow-unknown-ops");
  }
  // With a transport, the client would add an argument; standard input and output are what it takes without.
  const server: ServerOptions = { command, args };
  client = new LanguageClient(SETTINGS, "Relax Explorer", server, options());
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    const advice = `${command} lsp does not start: pip install 'relax-explorer[lsp]', or set relaxExplorer.command.`;
    void vscode.window.showErrorMessage(`${advice} ${error instanceof Error ? error.message : ""}`);
  }
}

async function restart(): Promise<void> {
  await client?.stop();
  await start();
}

function options(): LanguageClientOptions {
  return {
    documentSelector: [
      { language: "python", scheme: "file" },
      { language: "python", scheme: "untitled" },
    ],
    initializationOptions: { terminal: true },
    middleware: {
      // What stands above a function runs here, where there are terminals.
      executeCommand: async (command, args, next) => {
        const answer: unknown = await next(command, args);
        if (command === "rxe.command") {
          openTerminal(answer);
        }
        return answer;
      },
    },
  };
}

/** Ask the server to run one of its commands; a refusal is shown. */
async function ask(command: string, ...args: unknown[]): Promise<unknown> {
  if (client === undefined) {
    return undefined;
  }
  try {
    return await client.sendRequest("workspace/executeCommand", { command, arguments: args });
  } catch (error) {
    void vscode.window.showWarningMessage(error instanceof Error ? error.message : String(error));
    return undefined;
  }
}

function openTerminal(line: unknown): void {
  if (typeof line !== "string") {
    return;
  }
  const command = vscode.workspace.getConfiguration(SETTINGS).get<string>("command", "rxe");
  const terminal = vscode.window.createTerminal({ name: "Relax Explorer" });
  terminal.show();
  terminal.sendText(line.replace(/^rxe/, () => (/\s/.test(command) ? `"${command}"` : command)));
}

/** The page of the document in front, as it stands on the disk. */
async function page(): Promise<void> {
  const document = vscode.window.activeTextEditor?.document;
  if (document === undefined || document.uri.scheme !== "file") {
    void vscode.window.showWarningMessage("Relax: the page is that of a file; save the text first.");
    return;
  }
  await document.save();
  await showPage(vscode.workspace.getConfiguration(SETTINGS).get<string>("command", "rxe"), document.uri);
}

/** The document and the function at the cursor, by the outline; the function is "" outside of all. */
async function place(): Promise<string[]> {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined) {
    return [];
  }
  const uri = editor.document.uri;
  const found = await vscode.commands.executeCommand<vscode.DocumentSymbol[] | undefined>(
    "vscode.executeDocumentSymbolProvider",
    uri,
  );
  const around = (items: vscode.DocumentSymbol[]): string => {
    const item = items.find((one) => one.range?.contains(editor.selection.active));
    if (item === undefined) {
      return "";
    }
    return item.kind === vscode.SymbolKind.Function ? item.name : around(item.children);
  };
  return [client?.code2ProtocolConverter.asUri(uri) ?? uri.toString(), around(found ?? [])];
}

async function applyPass(texts: StageTexts): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  const passes = await ask("rxe.passes");
  if (editor === undefined || !Array.isArray(passes)) {
    return;
  }
  const items = passes.map((item: { name: string; doc: string }) => ({ label: item.name, detail: item.doc }));
  const chosen = await vscode.window.showQuickPick(items, { title: "Apply a pass", matchOnDetail: true });
  if (chosen === undefined) {
    return;
  }
  const uri = client?.code2ProtocolConverter.asUri(editor.document.uri) ?? editor.document.uri.toString();
  const stages = await ask("rxe.applyPass", uri, chosen.label, editor.selection.active.line);
  if (stages !== undefined) {
    await texts.show(stages as Stages);
  }
}
