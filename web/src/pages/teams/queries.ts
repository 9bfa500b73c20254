import { useQuery } from "@tanstack/react-query";
import { api, told } from "../../api/client";

export function useTeams() {
  return useQuery({ queryKey: ["teams"], queryFn: () => told(api.GET("/api/v1/teams")) });
}

export function useTeam(name: string) {
  const params = { path: { name } };
  return useQuery({
    queryKey: ["teams", name],
    queryFn: () => told(api.GET("/api/v1/teams/{name}", { params })),
  });
}

export function useMembers(team: string) {
  const params = { path: { team } };
  return useQuery({
    queryKey: ["teams", team, "members"],
    queryFn: () => told(api.GET("/api/v1/teams/{team}/members", { params })),
  });
}

export function useInvites(team: string, isAllowed: boolean) {
  const params = { path: { team } };
  return useQuery({
    queryKey: ["teams", team, "invites"],
    enabled: isAllowed,
    queryFn: () => told(api.GET("/api/v1/teams/{team}/invites", { params })),
  });
}

export function useTokens(team: string, isAllowed: boolean) {
  const params = { query: { team } };
  return useQuery({
    queryKey: ["tokens", team],
    enabled: isAllowed,
    queryFn: () => told(api.GET("/api/v1/tokens", { params })),
  });
}

/** The token that whoever is signed in holds; the fleet's owner holds none that could be revoked. */
export function useOwnToken() {
  return useQuery({
    queryKey: ["tokens", "own"],
    queryFn: () => told(api.GET("/api/v1/tokens/own")),
  });
}
