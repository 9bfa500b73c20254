import { api, Refusal, told } from "../api/client";
import type { Right, Visitor } from "../api/schema";
import { External, useExternal } from "./external";

/** Who is signed in; null if nobody is, undefined until the server has said. */
export const visitor = new External<Visitor | null | undefined>(undefined);

/** Sign in with the code in the address, if there is one, or with the session of before.
 *
 * Returns why the code was refused, unless the browser is signed in anyway. */
export async function begin(): Promise<unknown> {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (code) history.replaceState(null, "", location.pathname + location.search);
  try {
    visitor.set(await (code ? opened({ code }) : told(api.GET("/session"))));
  } catch (error) {
    if (code) return recover(error);
    visitor.set(refused(error));
  }
  return undefined;
}

export async function signIn(token: string): Promise<void> {
  visitor.set(await opened({ token }));
}

/** Join a team with the secret of an invite, and sign in as its new member. */
export async function join(team: string, handle: string, secret: string): Promise<void> {
  const body = { teamName: team, handle, secret };
  const { token } = await told(api.POST("/auth", { body }));
  await signIn(token);
}

export async function signOut(): Promise<void> {
  await api.DELETE("/session");
  visitor.set(null);
}

export function forget(): void {
  visitor.set(null);
}

/** May whoever is signed in do this at all? */
export function useMay(right: Right): boolean {
  return useExternal(visitor)?.rights.includes(right) ?? false;
}

function opened(body: { code: string } | { token: string }): Promise<Visitor> {
  return told(api.POST("/session", { body }));
}

/** The code was used before: the session that it opened may still be there. */
async function recover(why: unknown): Promise<unknown> {
  try {
    visitor.set(await told(api.GET("/session")));
  } catch (error) {
    visitor.set(refused(error));
    return why;
  }
  return undefined;
}

function refused(error: unknown): null | undefined {
  return error instanceof Refusal && error.status === 0 ? undefined : null;
}
