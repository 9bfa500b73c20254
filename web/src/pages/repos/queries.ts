import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { api, told } from "../../api/client";

export function useRepo(name: string) {
  const params = { path: { name } };
  return useQuery({
    queryKey: ["repos", name],
    queryFn: () => told(api.GET("/api/v1/repos/{name}", { params })),
  });
}

/** What was learnt about a repo, the newest first; with words, only what has all of them. */
export function useMemories(repo: string, words: string, isAllowed: boolean) {
  return useQuery({
    queryKey: ["memories", repo, words],
    enabled: isAllowed,
    placeholderData: keepPreviousData,
    queryFn: async () => {
      if (words) {
        const query = { query: words, repo, limit: 100 };
        return told(api.GET("/api/v1/memories/search", { params: { query } }));
      }
      const all = await told(api.GET("/api/v1/memories", { params: { query: { repo } } }));
      return all.toReversed();
    },
  });
}

export function useClaims(repo: string) {
  const params = { query: { repo } };
  return useQuery({
    queryKey: ["claims", repo],
    queryFn: () => told(api.GET("/api/v1/claims", { params })),
  });
}
