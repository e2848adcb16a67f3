/** The page of `rxe report` beside the text: stages, changes, graph, values and costs. */

import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import * as path from "node:path";
import * as vscode from "vscode";

const MOST = 64 * 1024 * 1024; // bytes that a command may write

/** Make the page of a file, with the passes that a report runs, and show it. It is a file of its own, which needs no network. */
export async function showPage(command: string, file: vscode.Uri): Promise<void> {
  const name = path.basename(file.fsPath);
  const options = { location: vscode.ProgressLocation.Notification, title: `Relax: the page of ${name}`, cancellable: true };
  const html = await vscode.window.withProgress(options, (_, cancelled) => made(command, file.fsPath, cancelled));
  if (html === undefined) {
    return;
  }
  const panel = vscode.window.createWebviewPanel("relaxExplorer.page", `Relax: ${name}`, vscode.ViewColumn.Beside, {
    enableScripts: true, // those of the page, which its policy names
    enableFindWidget: true,
    localResourceRoots: [],
    retainContextWhenHidden: true,
  });
  panel.webview.html = html.replace("<html", `<html data-theme="${isDark() ? "dark" : "light"}"`);
}

/** True in a dark theme of the editor. */
function isDark(): boolean {
  const { kind } = vscode.window.activeColorTheme;
  return kind === vscode.ColorThemeKind.Dark || kind === vscode.ColorThemeKind.HighContrast;
}

/** The page; undefined if it was cancelled or could not be made, which is told. */
async function made(command: string, file: string, cancelled: vscode.CancellationToken): Promise<string | undefined> {
  const folder = await mkdtemp(path.join(tmpdir(), "rxe-page-"));
  const page = path.join(folder, "page.html");
  try {
    await new Promise<void>((resolve, reject) => {
      const child = execFile(command, ["report", file, "-o", page], { maxBuffer: MOST }, (error, _, stderr) => {
        // A status of 1 means that something was found; the page tells of it.
        if (error === null || error.code === 1) {
          resolve();
        } else {
          reject(new Error(stderr.trim() || error.message));
        }
      });
      cancelled.onCancellationRequested(() => child.kill());
    });
    return await readFile(page, "utf8");
  } catch (error) {
    if (!cancelled.isCancellationRequested) {
      void vscode.window.showWarningMessage(error instanceof Error ? error.message : String(error));
    }
    return undefined;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
