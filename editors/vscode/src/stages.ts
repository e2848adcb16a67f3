/** Programs before and after passes, as documents that nobody can edit. */

import * as vscode from "vscode";

export const SCHEME = "rxe-stage";

/** What the server answers to `rxe.applyPass`. */
export interface Stages {
  title: string;
  before: string;
  after: string;
  sentence: string;
  problems: string[];
}

/** Holds the texts that are shown, by their addresses; one that is closed is forgotten. */
export class StageTexts implements vscode.TextDocumentContentProvider {
  private readonly texts = new Map<string, string>();
  private count = 0;

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.texts.get(uri.toString()) ?? "";
  }

  forget(uri: vscode.Uri): void {
    this.texts.delete(uri.toString());
  }

  /** Show both texts of a pipeline beside each other, with the sentence about it. */
  async show(stages: Stages): Promise<void> {
    this.count += 1;
    const [before, after] = [this.add("before", stages.before), this.add(stages.title, stages.after)];
    await vscode.commands.executeCommand("vscode.diff", before, after, `before ↔ ${stages.title}`, { preview: true });
    const told = [stages.sentence, ...stages.problems].filter((text) => text !== "").join(" · ");
    void vscode.window.setStatusBarMessage(told, 15_000);
  }

  private add(name: string, text: string): vscode.Uri {
    const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${this.count}/${name}.py` });
    this.texts.set(uri.toString(), text);
    return uri;
  }
}
