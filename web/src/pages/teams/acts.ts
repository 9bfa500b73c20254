import { api, told } from "../../api/client";
import type { Role } from "../../api/schema";
import { cache } from "../../live/cache";

export async function createTeam(name: string, repos: string[]): Promise<void> {
  await api.POST("/api/v1/teams", { body: { name, repos } });
  await readAgain();
}

export async function removeTeam(name: string): Promise<void> {
  await api.DELETE("/api/v1/teams/{name}", { params: { path: { name } } });
  await readAgain();
}

/** The secret of a new invite, which is told only now. */
export async function invite(team: string, body: { role: Role; uses: number; ttl: string }) {
  const params = { path: { team } };
  const { secret } = await told(api.POST("/api/v1/teams/{team}/invites", { params, body }));
  await readAgain();
  return secret;
}

export async function withdraw(ref: string): Promise<void> {
  await api.DELETE("/api/v1/invites/{ref}", { params: { path: { ref } } });
  await readAgain();
}

/** The text of a new token, which is told only now. */
export async function createToken(
  team: string,
  body: { handle: string; role: Role; ttl: string | null },
) {
  const params = { path: { team } };
  const { text } = await told(api.POST("/api/v1/teams/{team}/tokens", { params, body }));
  await readAgain();
  return text;
}

export async function revoke(ref: string): Promise<void> {
  await api.DELETE("/api/v1/tokens/{ref}", { params: { path: { ref } } });
  await readAgain();
}

async function readAgain(): Promise<void> {
  await Promise.all([
    cache.invalidateQueries({ queryKey: ["teams"] }),
    cache.invalidateQueries({ queryKey: ["tokens"] }),
  ]);
}
